package http1_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
)

// lastWords is a connection that returns its last bytes together with io.EOF, as io.Reader allows.
type lastWords struct {
	net.Conn
	in io.Reader
}

func (c *lastWords) Read(p []byte) (int, error) { return c.in.Read(p) }

// pieces returns a reader that returns each text by one Read.
func pieces(texts ...string) io.Reader {
	var all []io.Reader
	for _, text := range texts {
		all = append(all, iotest.DataErrReader(strings.NewReader(text)))
	}
	return &chained{all}
}

// chained reads its readers in order and returns io.EOF with the last bytes of the last one.
type chained struct{ all []io.Reader }

func (c *chained) Read(p []byte) (int, error) {
	n, err := c.all[0].Read(p)
	if errors.Is(err, io.EOF) && len(c.all) > 1 {
		c.all, err = c.all[1:], nil
	}
	return n, err
}

// TestBytesWithAnError: bytes that a read returns together with an error count as received.
func TestBytesWithAnError(t *testing.T) {
	t.Parallel()
	body := payload
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", readPath, len(body))
	large := body + strings.Repeat(" ", 20<<10)
	long := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", readPath, len(large))
	for name, in := range map[string]io.Reader{
		"at once":         pieces("GET /live HTTP/1.1\r\nHost: x\r\n\r\n"),
		"end of the head": pieces("GET /live HTTP/1.1\r\n", "Host: x\r\n\r\n"),
		"body":            pieces(head+"\r\n", body),
		"end of the body": pieces(long, large[:100], large[100:]),
		"chunked":         pieces("POST "+readPath+" HTTP/1.1\r\nHost: x\r\n", fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := newStub()
			s := http1.NewServer(svc, http1.Options{})
			l := &pipes{make(chan net.Conn), make(chan struct{})}
			done := make(chan error, 1)
			go func() { done <- s.Serve(l) }()
			near, far := net.Pipe()
			l.ch <- &lastWords{far, in}
			text, err := io.ReadAll(near)
			require.NoError(t, err)
			require.NotEmpty(t, text, "no reply")
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(text))), nil)
			require.NoError(t, err)
			require.Equal(t, 200, resp.StatusCode, string(text))
			resp.Body.Close()
			near.Close()
			require.NoError(t, s.Close())
			require.ErrorIs(t, <-done, http.ErrServerClosed)
		})
	}
}
