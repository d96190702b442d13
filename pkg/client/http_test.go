package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/client"
	"triton/pkg/status"
)

func newClient(t *testing.T, o client.Options) *client.Client {
	t.Helper()
	c, err := client.New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// script responds to each request with the next text, whatever connection it comes
// on. An empty text closes the connection; so does the last one.
type script struct {
	net.Listener
	responses []string
	mu        sync.Mutex
	seen      []string // methods and paths
	wg        sync.WaitGroup
}

func newScript(t *testing.T, responses ...string) *script {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &script{Listener: l, responses: responses}
	s.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); s.wg.Wait() })
	return s
}

func (s *script) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	for r := bufio.NewReader(conn); ; {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		s.mu.Lock()
		i := len(s.seen)
		s.seen = append(s.seen, req.Method+" "+req.URL.Path)
		s.mu.Unlock()
		if i >= len(s.responses) || s.responses[i] == "" {
			return
		}
		_, _ = io.WriteString(conn, s.responses[i])
		if i+1 == len(s.responses) {
			return
		}
	}
}

func (s *script) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

func response(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// TestInferenceIsSentOnce: a server that closes an idle connection while a request is on its
// way may have run it. Only calls that change nothing are sent again.
func TestInferenceIsSentOnce(t *testing.T) {
	s := newScript(t, response("{}"), "", response("[]"), "", response("[]"), "", response("{}"))
	c := newClient(t, client.Options{Address: s.Addr().String()})
	ctx := t.Context()
	req := &client.Request{Model: "m", Inputs: []client.Tensor{client.NewTensor("X", []int64{1}, int32(1))}}
	_, err := c.Infer(ctx, req)
	require.NoError(t, err)
	_, err = c.Infer(ctx, req)
	require.ErrorContains(t, err, "HTTP client failed: ")
	require.Len(t, s.requests(), 2)

	_, err = c.Index(ctx, false) // makes a connection that was used
	require.NoError(t, err)
	_, err = c.Index(ctx, false)
	require.NoError(t, err)
	_, err = c.ServerMetadata(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{
		"POST /v2/models/m/infer", "POST /v2/models/m/infer", "POST /v2/repository/index",
		"POST /v2/repository/index", "POST /v2/repository/index", "GET /v2", "GET /v2",
	}, s.requests())
}

func TestLoadIsSentOnce(t *testing.T) {
	s := newScript(t, response("{}"), "", response("{}"))
	c := newClient(t, client.Options{Address: s.Addr().String()})
	_, err := c.ServerMetadata(t.Context())
	require.NoError(t, err)
	require.Error(t, c.Load(t.Context(), "m", client.Override{}))
	require.Len(t, s.requests(), 2)
}

// TestCancelEndsAnInference covers a server that sends no response and one that
// stops within the body.
func TestCancelEndsAnInference(t *testing.T) {
	var requests atomic.Int32
	arrived := make(chan struct{}, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		defer func() { <-r.Context().Done() }()
		defer func() { arrived <- struct{}{} }()
		if requests.Add(1) == 2 {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "{")
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer s.Close()
	c := newClient(t, client.Options{Address: s.URL})
	for sent := int32(1); sent <= 2; sent++ {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		_, err := c.Infer(ctx, &client.Request{Model: "m"})
		require.Equal(t, context.Canceled, err)
		require.Equal(t, sent, requests.Load(), "not sent again")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := c.Infer(ctx, &client.Request{Model: "m"})
	require.Equal(t, context.DeadlineExceeded, err)
}

func TestMalformedResponses(t *testing.T) {
	ctx := t.Context()
	infer := func(c *client.Client) error {
		_, err := c.Infer(ctx, &client.Request{Model: "m"})
		return err
	}
	meta := func(c *client.Client) error {
		_, err := c.ServerMetadata(ctx)
		return err
	}
	for _, c := range []struct {
		response, want string
		call           func(*client.Client) error
	}{
		{response("{"), "response JSON: ", infer},
		{response(`{"outputs":[{"name":"Y","datatype":"UINT8","shape":[1],"data":[1]}]}`), `output "Y": the server did not send it as binary`, infer},
		{response(`{"outputs":[{"name":"Y","datatype":"UINT8","shape":[3],"parameters":{"binary_data_size":3}}]}`), `output "Y": 3 bytes declared, 0 are left`, infer},
		{response(`{"outputs":[{"name":"Y","datatype":"UINT8","shape":[3],"parameters":{"binary_data_size":-1}}]}`), `output "Y": -1 bytes declared`, infer},
		{strings.Replace(response("{}"), "\r\n", "\r\nInference-Header-Content-Length: 3\r\n", 1), `Inference-Header-Content-Length is "3"`, infer},
		{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{}", "HTTP client failed: unexpected EOF", infer},
		{"HTTP/1.1 500 X\r\nContent-Length: 3\r\n\r\nboo", `HTTP status 500: "boo"`, infer},
		{"HTTP/1.1 307 X\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n", "HTTP status 307", infer},
		{response("[]"), "response to /v2: ", meta},
		{"SSH-2.0-x\r\n\r\n", "HTTP client failed: ", meta},
		{"HTTP/1.1 503 X\r\nContent-Length: 17\r\n\r\n{\"error\":\"later\"}", "later", meta},
	} {
		s := newScript(t, c.response)
		err := c.call(newClient(t, client.Options{Address: s.Addr().String()}))
		require.ErrorContains(t, err, c.want)
		require.Len(t, s.requests(), 1)
	}
}

func TestResponseParameters(t *testing.T) {
	s := newScript(t, response(`{"parameters":{"s":"x","b":true,"i":-3,"u":18446744073709551615,"f":0.5}}`))
	r, err := newClient(t, client.Options{Address: s.Addr().String()}).Infer(t.Context(), &client.Request{Model: "m"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"s": "x", "b": true, "i": int64(-3), "u": uint64(1<<64 - 1), "f": 0.5}, r.Parameters)
}

func TestPathsAndHeaders(t *testing.T) {
	var path, header string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, header = r.URL.EscapedPath(), r.Header.Get("X-Extra")
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	c := newClient(t, client.Options{Address: s.URL + "/base/", Headers: map[string]string{"X-Extra": "1"}})
	_, err := c.ModelMetadata(t.Context(), "a/b", "2")
	require.NoError(t, err)
	require.Equal(t, "/base/v2/models/a%2Fb/versions/2", path)
	require.Equal(t, "1", header)
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, o := range []client.Options{
		{Address: "ftp://x"},
		{Address: "http://"},
		{Address: "http://:80"},
		{Address: "http://a b"},
		{Address: "http://x", TLS: &tls.Config{}},
		{Address: "a:1", Headers: map[string]string{"X": "a\r\nb"}},
		{Protocol: client.GRPC},
		{Protocol: client.GRPC, Address: "http://x:1"},
		{Protocol: client.GRPC, Address: "grpc://x:1", TLS: &tls.Config{}},
	} {
		_, err := client.New(o)
		require.Error(t, err, "%+v", o)
	}
	for p, want := range map[client.Protocol]string{
		client.HTTP: "HTTP client failed: Couldn't connect to server",
		client.GRPC: "failed to connect to all addresses; last error: ",
	} {
		c := newClient(t, client.Options{Protocol: p, Address: "127.0.0.1:1"})
		_, err := c.ModelMetadata(t.Context(), "m", "")
		require.ErrorContains(t, err, want)
		require.Equal(t, p == client.GRPC, status.CodeOf(err) == status.Unavailable)
	}
}
