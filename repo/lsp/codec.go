package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
)

// maxMessage bounds a message; a configuration has at most 4 MiB.
const maxMessage = 64 << 20

// codec reads and writes the messages of the base protocol: headers as of HTTP, an empty line, and
// Content-Length bytes of JSON. The one of the library fails on headers in another case, leaves
// white space behind the JSON in the stream, and has no bound.
type codec struct {
	failed chan error // has room for one: why no further message can be read
}

// ReadObject reads one message.
func (c *codec) ReadObject(r *bufio.Reader, v any) error {
	err := readMessage(r, v)
	if err != nil {
		c.failed <- err // the library reads nothing after an error
	}
	return err
}

func readMessage(r *bufio.Reader, v any) error {
	length, err := contentLength(r)
	if err != nil {
		return err
	}
	// The buffer grows with what arrives: a header alone does not allocate.
	body, err := io.ReadAll(io.LimitReader(r, int64(length)))
	if err != nil {
		return err
	}
	if len(body) < length {
		return io.ErrUnexpectedEOF
	}
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("a message is no JSON-RPC: %w", err)
	}
	return nil
}

const maxHeader = 4 << 10

// contentLength reads the headers of a message.
func contentLength(r *bufio.Reader) (int, error) {
	length := -1
	for read := 0; ; {
		line, err := r.ReadSlice('\n')
		read += len(line)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) || read > maxHeader:
			return 0, fmt.Errorf("the headers of a message have more than %d bytes", maxHeader)
		case err != nil:
			return 0, err
		}
		text := textproto.TrimBytes(line)
		if len(text) == 0 {
			break
		}
		name, value, ok := cutHeader(string(text))
		if !ok {
			return 0, fmt.Errorf("%q is no header of a message", text)
		}
		if name != "Content-Length" {
			continue
		}
		length, err = strconv.Atoi(value)
		if err != nil || length < 0 || length > maxMessage {
			return 0, fmt.Errorf("Content-Length %q is not between 0 and %d", value, maxMessage)
		}
	}
	if length < 0 {
		return 0, errors.New("a message has no Content-Length")
	}
	return length, nil
}

func cutHeader(line string) (name, value string, ok bool) {
	for i := range len(line) {
		if line[i] == ':' {
			return textproto.CanonicalMIMEHeaderKey(textproto.TrimString(line[:i])), textproto.TrimString(line[i+1:]), true
		}
	}
	return "", "", false
}

// WriteObject writes one message.
func (*codec) WriteObject(w io.Writer, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return err
}
