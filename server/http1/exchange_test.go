package http1_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
	"triton/server/http1/http1test"
)

// TestReplyOnTheWire pins every byte of the loop's replies.
func TestReplyOnTheWire(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		handle func(*http1.Exchange)
		want   string
	}{
		"empty": {func(*http1.Exchange) {}, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
		"without content type": {
			func(x *http1.Exchange) { x.Status, x.ContentType = 400, "" },
			"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		},
		"of Triton's library": {
			func(x *http1.Exchange) { x.Status = 405 },
			"HTTP/1.1 405 Not Allowed\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		},
		"all headers": {func(x *http1.Exchange) {
			x.ContentType, x.JSONSize, x.Encoding = http1.OctetStream, 2, "gzip"
			x.Extra = append(x.Extra, http1.Field{Name: "B", Value: "b"}, http1.Field{Name: "A", Value: "a"})
			x.Text, x.Tail = append(x.Text[:0], "{}"...), append(x.Tail, []byte("12"), []byte("34"))
		}, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nInference-Header-Content-Length: 2\r\n" +
			"Content-Encoding: gzip\r\nB: b\r\nA: a\r\nContent-Length: 6\r\nConnection: close\r\n\r\n{}1234"},
		"chunks": {func(x *http1.Exchange) {
			x.ContentType = http1.EventStream
			_ = x.Chunk([]byte("abc"))
			_ = x.Chunk([]byte("0123456789abcdef"))
			_ = x.Flush(true)
		}, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n" +
			"3\r\nabc\r\n10\r\n0123456789abcdef\r\n0\r\n\r\n"},
		"changed before": {func(x *http1.Exchange) {
			x.BeforeSend = func(x *http1.Exchange) { x.Status = 507 }
		}, "HTTP/1.1 507 Insufficient Storage\r\nContent-Type: text/plain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := newStub()
			svc.handle = c.handle
			addr := http1test.Start(t, http1.NewServer(svc, http1.Options{}))
			require.Equal(t, c.want, dial(t, addr, "POST /read HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", false))
		})
	}
}

// TestBothTransports: the transports are equal for a handler and, except for the order of headers,
// for a client.
func TestBothTransports(t *testing.T) {
	http1test.Both(t, func(t *testing.T, start http1test.Serving) {
		seen := make(chan string, 1)
		addr := start(t, http1.HandlerFunc(func(x *http1.Exchange) {
			body, err := io.ReadAll(x.Body)
			value, ok := x.Lookup("x-empty")
			count := 0
			_ = x.Each(func(name, value string) error {
				if strings.EqualFold(name, "x-two") {
					count++
				}
				return nil
			})
			host, _, _ := net.SplitHostPort(x.RemoteAddr())
			seen <- fmt.Sprintf("%s %s %d %s %v %v; two %q (%d), none %q, empty %q %v; %s %+v", x.Method, x.Path, x.Length, body, err,
				x.Context.Err(), x.Get("x-two"), count, x.Get("x-none"), value, ok, host, x.Header)
			x.Status, x.JSONSize, x.Text = 201, 1, append(x.Text[:0], "ab"...)
			x.Tail = append(x.Tail, make([]byte, 20<<10))
			require.Zero(t, x.Copied())
			require.Equal(t, 20482, x.Size())
			x.Send()
		}), http1.Options{})
		reply := dial(t, addr, "POST /a%2Fb?q=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Two: 1\r\nX-Two: 2\r\nX-Empty: \r\n"+
			"Accept-Encoding: gzip\r\nInference-Header-Content-Length: 1\r\nContent-Length: 3\r\n\r\nabc", false)
		require.Equal(t, `POST /a%2Fb 3 abc <nil> <nil>; two "1" (2), none "", empty "" true; 127.0.0.1 `+
			`{JSONLength:1 HasJSONLength:true ContentEncoding: AcceptEncoding:gzip}`, <-seen)
		head, body, _ := strings.Cut(reply, "\r\n\r\n")
		require.Regexp(t, "^HTTP/1.1 201 Created\r\n", head)
		for _, line := range []string{"Content-Type: text/plain", "Inference-Header-Content-Length: 1", "Content-Length: 20482", "Connection: close"} {
			require.Contains(t, head, line)
		}
		require.NotContains(t, head, "Date:")
		require.Len(t, body, 20482)
	})
}

// TestNoReply: a request that the handler leaves without a complete reply ends its connection,
// and a chunked reply is not terminated.
func TestNoReply(t *testing.T) {
	http1test.Both(t, func(t *testing.T, start http1test.Serving) {
		for _, chunked := range []bool{false, true} {
			addr := start(t, http1.HandlerFunc(func(x *http1.Exchange) {
				if chunked {
					_ = x.Chunk([]byte("abc"))
					_ = x.Flush(false)
				}
			}), http1.Options{})
			reply := dial(t, addr, "GET / HTTP/1.1\r\nHost: x\r\n\r\n", false)
			if !chunked {
				require.Empty(t, reply)
			}
			require.False(t, strings.HasSuffix(reply, "0\r\n\r\n"), "%q", reply)
		}
	})
}

// TestState: nothing but State stays in a pooled exchange.
func TestState(t *testing.T) {
	t.Parallel()
	type state struct{ n int }
	addr := http1test.Start(t, http1.NewServer(http1.HandlerFunc(func(x *http1.Exchange) {
		s, ok := x.State.(*state)
		if !ok {
			s = &state{}
			x.State = s
		}
		s.n++
		if x.Encoding != "" || len(x.Extra) > 0 || len(x.Text) > 0 || len(x.Tail) > 0 || x.BeforeSend != nil || x.Started() {
			x.Status = 500
		}
		x.Encoding, x.BeforeSend = "gzip", func(*http1.Exchange) {}
		x.Extra = append(x.Extra, http1.Field{Name: "A", Value: "b"})
		x.Text, x.Tail = fmt.Append(x.Text, s.n), append(x.Tail, []byte("!"))
		x.Send()
	}), http1.Options{}))
	for range 3 {
		require.Contains(t, dial(t, addr, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false), "HTTP/1.1 200 OK\r\n")
	}
}
