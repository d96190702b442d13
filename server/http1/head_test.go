package http1

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const plainHead = "POST /v2/models/m/infer?a=b HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: 12\r\ncontent-length: 20\r\nConnection: Keep-Alive\r\nAccept-Encoding: gzip\r\n\r\n"

func TestHeadPlain(t *testing.T) {
	var h head
	require.Equal(t, len(plainHead), h.parse([]byte(plainHead+"body")))
	require.Equal(t, "POST", h.method)
	require.Equal(t, "/v2/models/m/infer", h.path)
	require.EqualValues(t, 20, h.length)
	require.Equal(t, Header{JSONLength: "12", HasJSONLength: true, AcceptEncoding: "gzip"}, h.Header)
	require.False(t, h.close)
	for n := range len(plainHead) {
		require.Zero(t, h.parse([]byte(plainHead[:n])))
	}
	second := "GET /v2 HTTP/1.1\r\nHOST:x\r\nConnection: close\r\n\r\n"
	require.Equal(t, len(second), h.parse([]byte(second)))
	require.Equal(t, Header{}, h.Header, "nothing may stay of the request before")
	require.Zero(t, h.length)
	require.True(t, h.close)
	b := []byte(plainHead)
	require.Zero(t, testing.AllocsPerRun(100, func() { h.parse(b) }))
}

// TestHeadUnusual lists heads that the parser must leave to net/http.
func TestHeadUnusual(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"GET /v2 HTTP/1.0\r\nHost: x\r\n\r\n", "HEAD /v2 HTTP/1.1\r\nHost: x\r\n\r\n", "GET http://x/v2 HTTP/1.1\r\nHost: x\r\n\r\n", "GET  /v2 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v2  HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v2 HTTP/1.1\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\n folded: y\r\n\r\n",
		"GET /v2 HTTP/1.1\r\nHost: x\r\nA : y\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nA\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nA: b\x00c\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nA: b\nB: c\r\n\r\n",
		"GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: +1\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: \r\n\r\n",
		"GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 1\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999999999\r\n\r\n",
		"POST /v2 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "POST /v2 HTTP/1.1\r\nHost: x\r\ntransfer-encodinG: x\r\n\r\n", "POST /v2 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n",
		"GET /v2 HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", "PRI * HTTP/2.0\r\n\r\n", "\r\n\r\n", "GET /v2 HTTP/1.1\r\n: x\r\n\r\n", "GET /\x80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v2 HTTP/1.1\r\nHost: x\r\nConnection: close, x\r\n\r\n", "GET /v2 HTTP/1.1\r\nHost: x\r\nTrailer: x\r\n\r\n",
		"GET /v2?a b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v2?a\nB: c HTTP/1.1\r\nHost: x\r\n\r\n", "GET /v2?a\tb HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /v2 HTTP/1.1\nHost: x\n\n", "GET /v2 HTTP/1.1\r\nHost: x\n", "\n",
	} {
		var h head
		require.Equal(t, -1, h.parse([]byte(text)), "%q", text)
	}
}

// FuzzHead: net/http must accept every head that the parser accepts, and read the same from it.
func FuzzHead(f *testing.F) {
	f.Add([]byte(plainHead))
	f.Add([]byte("GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n"))
	f.Add([]byte("GET /v2/%41 HTTP/1.1\r\nHost:\tx \r\nA:b\r\nContent-Length: 3\r\nContent-Encoding: gzip\r\n\r\nabc"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h head
		n := h.parse(b)
		if n <= 0 {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(io.MultiReader(bytes.NewReader(b[:n]), strings.NewReader(strings.Repeat("x", 10)))))
		var escape url.EscapeError
		if errors.As(err, &escape) {
			return // to us it is a path like others, as to Triton
		}
		if err != nil {
			t.Fatalf("net/http refuses what was taken: %v: %q", err, b)
		}
		require.Equal(t, r.Method, h.method)
		require.Equal(t, r.ContentLength, h.length)
		require.Empty(t, r.TransferEncoding)
		require.Equal(t, r.Close, h.close)
		path, _, _ := strings.Cut(r.RequestURI, "?")
		require.Equal(t, path, h.path)
		require.Equal(t, r.Header.Get("Accept-Encoding"), h.AcceptEncoding)
		require.Equal(t, r.Header.Get("Content-Encoding"), h.ContentEncoding)
		require.Equal(t, r.Header.Get("Inference-Header-Content-Length"), h.JSONLength)
		require.NoError(t, h.lines.each(func(name, value string) error {
			if all := r.Header.Values(name); len(all) > 0 { // net/http takes some out
				first, ok := h.lines.lookup(strings.ToLower(name))
				require.True(t, ok)
				require.Equal(t, all[0], first, "header %q", name)
				require.Contains(t, all, strings.Trim(value, " \t"))
			}
			return nil
		}))
	})
}
