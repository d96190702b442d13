package http1_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
	"triton/server/http1/http1test"
)

func TestSmuggling(t *testing.T) { http1test.Both(t, testSmuggling) }

// testSmuggling: messages whose end a proxy could see elsewhere are refused, and nothing behind
// them is read as a request.
func testSmuggling(t *testing.T, start http1test.Serving) {
	addr := start(t, newStub(), http1.Options{})
	const hidden = "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
	const post = "POST " + readPath + " HTTP/1.1\r\nHost: x\r\n"
	for _, text := range []string{
		post + "Content-Length: 2\r\nContent-Length: 44\r\n\r\n{}" + hidden,
		post + "Content-Length: 44\r\ncontent-length: 2\r\n\r\n{}" + hidden,
		post + "Content-Length: 2, 44\r\n\r\n{}" + hidden,
		post + "Content-Length: 0x2\r\n\r\n{}" + hidden,
		post + "Content-Length: +2\r\n\r\n{}" + hidden,
		post + "Content-Length : 2\r\n\r\n{}" + hidden,
		post + "Content-Length: 18446744073709551618\r\n\r\n{}" + hidden,
		post + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}" + hidden,
		post + "Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n" + hidden,
		post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden,
		post + "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n" + hidden,
		post + "Transfer-Encoding: chunked\r\n\r\n10000000000000002\r\n{}\r\n0\r\n\r\n" + hidden,
		post + "X: a\x00b\r\n\r\n" + hidden,
		post + "X\r\n\r\n" + hidden,
		"POST " + readPath + "?a b HTTP/1.1\r\nHost: x\r\n\r\n" + hidden,
		"POST " + readPath + "?\nX: y HTTP/1.1\r\nHost: x\r\n\r\n" + hidden,
		"POST " + readPath + " HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n" + hidden,
		"POST " + readPath + " HTTP/1.1\r\n\r\n" + hidden,
		post + "Inference-Header-Content-Length: 2\r\nInference-Header-Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}" + hidden,
		post + "Content-Encoding: gzip\r\nContent-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}" + hidden,
		"POST " + readPath + " HTTP/11\r\nHost: x\r\n\r\n" + hidden,
	} {
		reply := dial(t, addr, text, false)
		require.Regexp(t, `^HTTP/1\.1 (4\d\d|501) `, reply, "%.200q", text)
		require.Equal(t, 1, strings.Count(reply, "HTTP/1.1 "), "%.200q", text)
	}
}

// TestBothLengths: a request with Content-Length and Transfer-Encoding is refused and its
// connection closed, wherever on a connection it occurs.
func TestBothLengths(t *testing.T) {
	t.Parallel()
	svc := newStub()
	addr := http1test.Start(t, http1.NewServer(svc, http1.Options{}))
	const hidden = "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
	const post = "POST " + readPath + " HTTP/1.1\r\nHost: x\r\n"
	const both = "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden
	chunks := fmt.Sprintf("%x;ext=1\r\n%s\r\n3 \r\n\n\r \r\n0\r\nTrailer: x\r\n\r\n", len(payload), payload)
	chunked := post + "Transfer-Encoding: chunked\r\n\r\n" + chunks
	for _, c := range []struct {
		before int // requests that are answered
		text   string
	}{
		{0, post + both},
		{0, post + "transfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n" + hidden},
		{0, post + "Transfer-Encoding:\r\n chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n" + hidden},
		{0, post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n0\r\n\r\n" + hidden},
		{0, "POST " + readPath + " HTTP/1.0\r\nHost: x\r\nConnection: keep-alive\r\n" + both},
		{0, "POST " + readPath + "?" + strings.Repeat("q", 20<<10) + " HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("y", 9<<10) + "\r\n" + both},
		{1, hidden + post + both},
		{2, hidden + chunked + post + both},
		{4, chunked + chunked + "\r\n" + hidden + "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n" + post + both},
		{3, chunked + post + "Content-Length: 12\r\n\r\n{\"inputs\":[]" + chunked + post + both},
	} {
		reply := dial(t, addr, c.text, false)
		require.Equal(t, c.before+1, strings.Count(reply, "HTTP/1.1 ")+strings.Count(reply, "HTTP/1.0 "), "%.200q: %q", c.text, reply)
		require.Equal(t, 1, strings.Count(reply, "its end is ambiguous"), "%.200q: %q", c.text, reply)
		last := reply[strings.LastIndex(reply, "HTTP/1."):]
		require.Contains(t, last, " 400 Bad Request\r\n", "%.200q", c.text)
		require.Contains(t, last, "Connection: close\r\n", "%.200q", c.text)
	}
}

func TestFraming(t *testing.T) { http1test.Both(t, testFraming) }

// testFraming: odd but unambiguous messages are answered in order.
func testFraming(t *testing.T, start http1test.Serving) {
	addr := start(t, newStub(), http1.Options{})
	const last = "GET /live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	for _, text := range []string{
		"GET /live HTTP/1.1\nHost: x\n\n" + last,
		"GET http://elsewhere/live HTTP/1.1\r\nHost: x\r\n\r\n" + last,
		"GET /live?" + strings.Repeat("q", 20<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n" + last,
		"GET /live HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello" + last,
		"GET /live HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello" + last,
		"GET /live HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n" + last,
		"GET /live HTTP/1.1\r\nHost: x\r\nX: a\r\n folded\r\n\r\n" + last,
	} {
		reply := dial(t, addr, text, false)
		require.Equal(t, 2, strings.Count(reply, "HTTP/1.1 200 OK"), "%.200q: %.500q", text, reply)
	}
}

// TestEmptyLines: empty lines behind a body, which old clients send, are ignored as in Triton and
// do not start the timeout of a head.
func TestEmptyLines(t *testing.T) {
	inBubble(t, func(t *testing.T, _ *stub, c net.Conn) {
		in := bufio.NewReader(c)
		const request = "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
		for _, text := range []string{"\r\n" + request, "\r\n\n" + request + "\r\n", request} {
			_, err := io.WriteString(c, text)
			require.NoError(t, err)
			require.Equal(t, 200, reply(t, in).StatusCode)
			time.Sleep(time.Hour)
		}
		for range 3 {
			_, err := io.WriteString(c, "\r\n")
			require.NoError(t, err)
			time.Sleep(time.Hour)
		}
		require.Equal(t, 200, get(t, c, in, "/live").StatusCode)
	})
}
