package lane

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

func TestResponseReader(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
	for _, c := range []struct {
		name, text string
		body       string
		jsonLen    int
		close      bool
		err        string
	}{
		{"length", head + "Content-Length: 5\r\n\r\nhello", "hello", 5, false, ""},
		{"binary", head + "content-length: 5\r\ninference-header-content-length:2\r\n\r\n{}abc", "{}abc", 2, false, ""},
		{"empty", head + "Content-Length: 0\r\n\r\n", "", 0, false, ""},
		{"chunks", head + "Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: x\r\n\r\n", "abcde", 5, false, ""},
		{"until the end", head + "\r\nabc", "abc", 3, true, ""},
		{"close", head + "Connection: Close\r\nContent-Length: 1\r\n\r\nx", "x", 1, true, ""},
		{"old protocol", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", "x", 1, true, ""},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\n" + head + "Content-Length: 1\r\n\r\nx", "x", 1, false, ""},
		{"bare line ends", "HTTP/1.1 200 OK\nContent-Length: 1\n\nx", "x", 1, false, ""},
		{"cut head", "HTTP/1.1 200 OK\r\nContent-Len", "", 0, false, "unexpected EOF"},
		{"cut body", head + "Content-Length: 5\r\n\r\nhell", "", 0, false, "unexpected EOF"},
		{"cut chunk", head + "Transfer-Encoding: chunked\r\n\r\n5\r\nab", "", 0, false, "unexpected EOF"},
		{"nothing", "", "", 0, false, "EOF"},
		{"no response", "SSH-2.0-OpenSSH\r\n", "", 0, false, "not an HTTP response"},
		{"no status", "HTTP/1.1 abc OK\r\n", "", 0, false, "not an HTTP status"},
		{"no header", "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n", "", 0, false, "not a header"},
		{"bad length", head + "Content-Length: -1\r\n\r\n", "", 0, false, "Content-Length"},
		{"huge length", head + "Content-Length: 99999999999999999999\r\n\r\n", "", 0, false, "out of range"},
		{"bad chunk", head + "Transfer-Encoding: chunked\r\n\r\nxyz\r\n", "", 0, false, "not a chunk size"},
		{"long chunk", head + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n", "", 0, false, "longer than its size"},
		{"endless head", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxHead) + "\r\n\r\n", "", 0, false, "header of more than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, src := range map[string]io.Reader{
				"whole":   strings.NewReader(c.text),
				"by byte": iotest.OneByteReader(strings.NewReader(c.text)),
			} {
				var d responseReader
				d.reset(src)
				x := Exchange{Keep: true}
				err := d.read(&x)
				if c.err != "" {
					require.ErrorContains(t, err, c.err, name)
					continue
				}
				require.NoError(t, err, name)
				require.Equal(t, c.body, string(x.Body), name)
				require.Equal(t, c.jsonLen, x.JSONLen, name)
				require.Equal(t, c.close, d.close, name)
			}
		})
	}
}

func TestResponsesFollowEachOther(t *testing.T) {
	t.Parallel()
	body := strings.Repeat("0123456789", 10000) // larger than the buffer
	one := "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + body
	bad := "HTTP/1.1 400 Bad Request\r\nContent-Length: 13\r\n\r\n{\"error\":\"x\"}"
	r, w := io.Pipe()
	var d responseReader
	d.reset(r)
	go func() {
		_, _ = io.WriteString(w, one)
		_, _ = io.WriteString(w, bad)
		_, _ = io.WriteString(w, one)
	}()
	x := Exchange{}
	require.NoError(t, d.read(&x))
	require.Empty(t, x.Body, "not requested")
	require.NoError(t, d.read(&x))
	require.Equal(t, `{"error":"x"}`, string(x.Body), "an error's is kept")
	x.Keep = true
	require.NoError(t, d.read(&x))
	require.Equal(t, body, string(x.Body))
}

func TestUnrequestedResponse(t *testing.T) {
	t.Parallel()
	var d responseReader
	d.reset(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxHTTP/1.1"))
	require.NoError(t, d.read(&Exchange{}))
	require.ErrorContains(t, d.read(&Exchange{}), "before the request")
}

// FuzzResponse wants no panic, no endless loop, and memory only for bytes that
// came.
func FuzzResponse(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
	f.Add([]byte("HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Add([]byte("HTTP/1.0 200 OK\r\nInference-Header-Content-Length: 7\r\n\r\nrest"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d responseReader
		d.reset(bytes.NewReader(text))
		x := Exchange{Keep: true}
		if d.read(&x) == nil && len(x.Body) > len(text) {
			t.Errorf("%d bytes out of %d", len(x.Body), len(text))
		}
	})
}

func TestReadingDoesNotAllocate(t *testing.T) {
	text := "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: 2\r\nContent-Length: 5\r\n\r\n{}abc"
	src := strings.NewReader(text)
	var d responseReader
	d.reset(src)
	var x Exchange
	require.Zero(t, testing.AllocsPerRun(100, func() {
		src.Reset(text)
		if err := d.read(&x); err != nil {
			t.Error(err)
		}
	}))
}
