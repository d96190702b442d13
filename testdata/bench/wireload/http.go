package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
)

// httpCaller is one connection that stays open.
type httpCaller struct {
	conn    net.Conn
	in      *bufio.Reader
	request []byte
	want    []byte // expected end of the response
	memory  *memory
}

// connect returns a caller for a body that begins with a JSON text of that length.
func (s *settings) connect(body []byte, text int) (*httpCaller, error) {
	conn, err := net.Dial("tcp", s.http)
	if err != nil {
		return nil, err
	}
	head := fmt.Sprintf("POST /v2/models/%s/infer HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", s.model, s.http, len(body))
	if text > 0 {
		head += fmt.Sprintf("Content-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\n", text)
	} else {
		head += "Content-Type: application/json\r\n"
	}
	return &httpCaller{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), request: append([]byte(head+"\r\n"), body...)}, nil
}

func (c *httpCaller) close() { _ = c.conn.Close() }

func (c *httpCaller) call(check bool) error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	size, err := c.head()
	if err != nil {
		return err
	}
	if !check {
		_, err = c.in.Discard(size)
		return err
	}
	body := make([]byte, size)
	if _, err = io.ReadFull(c.in, body); err != nil {
		return err
	}
	if !bytes.HasSuffix(body, c.want) {
		return errors.New("the response is not the input")
	}
	return c.memory.check()
}

var length = []byte("content-length:")

// head reads the header of a response and returns the size of its body.
func (c *httpCaller) head() (int, error) {
	size := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		switch {
		case err != nil:
			return 0, err
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")):
			rest, _ := c.in.Peek(c.in.Buffered())
			return 0, fmt.Errorf("%s%s", line, rest)
		case len(line) == 2:
			if size < 0 {
				return 0, errors.New("the response has no length")
			}
			return size, nil
		case len(line) > len(length) && bytes.EqualFold(line[:len(length)], length):
			if size, err = strconv.Atoi(string(bytes.TrimSpace(line[len(length):]))); err != nil {
				return 0, err
			}
		}
	}
}
