package loadtest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// HTTP is a null server for HTTP.
type HTTP struct {
	Address string
	// Respond, when set, returns the bytes of the response to inference number n,
	// from 1, or closed to end the connection instead. Set it before the first
	// request.
	Respond func(n uint64) (response string, closed bool)
	// Delay, when set, is the time that an inference takes. Set it before the first request.
	Delay time.Duration

	state    state
	listener net.Listener
	wg       sync.WaitGroup
	mu       struct {
		sync.Mutex
		conns map[net.Conn]bool
	}
}

// StartHTTP serves on address until Close.
func StartHTTP(address string) (*HTTP, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("null server: %w", err)
	}
	s := &HTTP{Address: l.Addr().String(), listener: l}
	s.mu.conns = map[net.Conn]bool{}
	s.wg.Go(s.accept)
	return s, nil
}

// Requests returns the number of inferences received.
func (s *HTTP) Requests() uint64 { return s.state.requests.Load() }

// Close ends all connections.
func (s *HTTP) Close() error {
	err := s.listener.Close()
	s.mu.Lock()
	for c := range s.mu.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	return err
}

func (s *HTTP) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.mu.conns[c] = true
		s.mu.Unlock()
		s.wg.Go(func() {
			_ = s.serve(c) // the client disconnected
			s.mu.Lock()
			delete(s.mu.conns, c)
			s.mu.Unlock()
			_ = c.Close()
		})
	}
}

var errClosed = errors.New("closed on purpose")

func (s *HTTP) serve(c net.Conn) error {
	r := bufio.NewReaderSize(c, 64<<10)
	infer := []byte(fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s%s",
		len(outputJSON), len(outputJSON)+64, outputJSON, strings.Repeat("\x00", 64)))
	for {
		path, err := request(r)
		if err != nil {
			return err
		}
		response := infer
		inference := bytes.HasSuffix(path, inferSuffix)
		if inference && s.Delay > 0 {
			time.Sleep(s.Delay)
		}
		if !inference {
			response = []byte(s.admin(string(path)))
		} else if n := s.state.requests.Add(1); s.Respond != nil {
			text, closed := s.Respond(n)
			if closed {
				return errClosed
			}
			response = []byte(text)
		}
		if _, err := c.Write(response); err != nil {
			return err
		}
	}
}

var inferSuffix = []byte("/infer")

// request reads one request and returns its path, valid until the next call.
func request(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	_, rest, _ := bytes.Cut(line, []byte(" "))
	path, _, _ := bytes.Cut(rest, []byte(" "))
	if !bytes.HasSuffix(path, inferSuffix) {
		path = bytes.Clone(path) // the next line overwrites the buffer
	} else {
		path = inferSuffix // without an allocation
	}
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		if name, value, _ := bytes.Cut(line, []byte(":")); bytes.EqualFold(name, []byte("content-length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return nil, fmt.Errorf("content length: %w", err)
			}
		}
	}
	_, err = r.Discard(length)
	return path, err
}

func (s *HTTP) admin(path string) string {
	body, code := "", "200 OK"
	switch path {
	case "/v2":
		body = serverJSON
	case "/v2/models/null":
		body = metadataJSON
	case "/v2/models/null/config":
		body = configJSON
	case "/v2/models/null/stats", "/v2/models/stats":
		body = s.state.statisticsJSON()
	case "/v2/health/live", "/v2/health/ready", "/v2/models/null/ready":
	case "/v2/repository/index":
		body = `[{"name":"null","version":"1","state":"READY"}]`
	default:
		body, code = `{"error":"Request for unknown model: 'nosuch' is not found"}`, "400 Bad Request"
	}
	return Response(code, body)
}

// Response returns a JSON response with its header.
func Response(code, body string) string {
	return fmt.Sprintf("HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", code, len(body), body)
}
