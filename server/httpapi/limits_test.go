package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
)

// serving starts a server over one of the transports.
type serving = func(testing.TB, *stub, httpapi.Options) string

func post(t *testing.T, addr, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+path, strings.NewReader(body))
	require.NoError(t, err)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

const inferPath = "/v2/models/id_fp32/infer"

func TestLimits(t *testing.T) { both(t, testLimits) }

func testLimits(t *testing.T, start serving) {
	addr := start(t, newService(), httpapi.Options{MaxInput: 1000})
	spaces := strings.Repeat(" ", 2000)
	code, text := post(t, addr, inferPath, spaces)
	require.Equal(t, 400, code)
	require.Equal(t, `{"error":"request JSON size of 2000 bytes exceeds the maximum allowed input size of 1000 bytes. Use --http-max-input-size to increase the limit."}`, text)

	code, text = post(t, addr, inferPath, spaces, "Inference-Header-Content-Length", "0")
	require.Equal(t, 400, code)
	require.Contains(t, text, "Raw input has a byte_size (2000 bytes) that exceeds the maximum allowed value of 1000 bytes.")

	// The limit is for text, not for binary tensors.
	head := one(fp32 + `"shape":[500],"parameters":{"binary_data_size":2000}`)
	code, text = post(t, addr, inferPath, head+spaces, "Inference-Header-Content-Length", fmt.Sprint(len(head)))
	require.Equal(t, 200, code, text)

	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(bytes.Repeat([]byte(" "), 2<<20))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	code, text = post(t, addr, inferPath, packed.String(), "Content-Encoding", "gzip")
	require.Equal(t, 400, code)
	require.Contains(t, text, "Decompressed data size exceeds the maximum allowed value of 1000 bytes.")

	code, _ = post(t, addr, inferPath, one(good))
	require.Equal(t, 200, code)
}

// dial sends text and half-closes, then returns the reply's status line and
// body.
func dial(t *testing.T, addr, text string, closeWrite bool) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, waitTime)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	if closeWrite {
		require.NoError(t, c.(*net.TCPConn).CloseWrite())
	}
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	return string(all)
}

func TestTruncatedBodies(t *testing.T) { both(t, testTruncatedBodies) }

func testTruncatedBodies(t *testing.T, start serving) {
	svc := newService()
	addr := start(t, svc, httpapi.Options{})
	head := "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for _, rest := range []string{
		"Content-Length: 100\r\n\r\n{}",
		"Content-Length: 2000000000\r\n\r\n{}",
		"Content-Length: 2000000000\r\nInference-Header-Content-Length: 2\r\n\r\n{}",
		"Content-Length: 100\r\nInference-Header-Content-Length: 0\r\n\r\nabc",
		"Transfer-Encoding: chunked\r\n\r\n5\r\n{}",
		"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}",
		"Content-Length: 100\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b",
		"Content-Length: 4000000000\r\n\r\n{}",
		"Content-Length: -5\r\n\r\n{}",
		"Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}",
		"Content-Length: x\r\n\r\n{}",
		"Inference-Header-Content-Length: 18446744073709551617\r\nContent-Length: 2\r\n\r\n{}",
	} {
		reply := dial(t, addr, head+rest, true)
		require.Regexp(t, `^HTTP/1\.1 (4|500)`, reply, rest)
	}
	// What is declared but not sent must take no memory to speak of.
	require.Less(t, svc.pool.Bytes(), int64(8<<20))
	code, _ := post(t, addr, inferPath, one(good))
	require.Equal(t, 200, code)
}

// TestLargeBody goes through all the steps in which a body buffer grows.
func TestLargeBody(t *testing.T) { both(t, testLargeBody) }

func testLargeBody(t *testing.T, start serving) {
	addr := start(t, newService(), httpapi.Options{})
	for _, c := range []struct {
		n       int
		chunked bool
	}{{17 << 20, false}, {1 << 20, true}} {
		data := bytes.Repeat([]byte("abcdefgh"), c.n/8)
		head := one(fp32+fmt.Sprintf(`"shape":[%d],"parameters":{"binary_data_size":%d}`, c.n/4, c.n), `,"parameters":{"binary_data_output":true}`)
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+inferPath, io.MultiReader(strings.NewReader(head), bytes.NewReader(data)))
		require.NoError(t, err)
		req.Header.Set("Accept-Encoding", "identity") // net/http would ask for gzip
		req.ContentLength = int64(len(head) + c.n)
		if c.chunked {
			req.ContentLength = -1
		}
		req.Header.Set("Inference-Header-Content-Length", fmt.Sprint(len(head)))
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body := make([]byte, resp.ContentLength)
		_, err = io.ReadFull(resp.Body, body)
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, 200, resp.StatusCode)
		skip, err := strconv.Atoi(resp.Header.Get("Inference-Header-Content-Length"))
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, body[skip:]), "the tensor came back changed")
	}
}

func TestKeepAliveAfterErrors(t *testing.T) { both(t, testKeepAliveAfterErrors) }

func testKeepAliveAfterErrors(t *testing.T, start serving) {
	addr := start(t, newService(), httpapi.Options{})
	body := strings.Repeat("x", 200<<10)
	text := fmt.Sprintf("POST /v2/models/nope/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body) +
		"GET /foo HTTP/1.1\r\nHost: x\r\n\r\nGET /v2/health/ready HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
	reply := dial(t, addr, text, false)
	require.Equal(t, 3, strings.Count(reply, "HTTP/1.1 "))
	require.Equal(t, 2, strings.Count(reply, "HTTP/1.1 404"))
	require.Contains(t, reply, "HTTP/1.1 200 OK")
}

func TestExpectContinue(t *testing.T) { both(t, testExpectContinue) }

func testExpectContinue(t *testing.T, start serving) {
	addr := start(t, newService(), httpapi.Options{})
	body := one(good)
	reply := dial(t, addr, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(body), body), false)
	require.True(t, strings.HasPrefix(reply, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n"), reply)
}

func TestHealthStates(t *testing.T) { both(t, testHealthStates) }

func testHealthStates(t *testing.T, start serving) {
	svc := newService()
	addr := start(t, svc, httpapi.Options{})
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + addr + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(b)
	}
	svc.ready = false
	code, text := get("/v2/health/ready")
	require.Equal(t, 400, code)
	require.Empty(t, text)
	svc.exit = true
	for _, path := range []string{"/v2/health/ready", "/v2/health/live"} {
		code, text = get(path)
		require.Equal(t, 503, code)
		require.JSONEq(t, `{"error":"Server exiting"}`, text)
	}
}

// TestClientGone: the request is cancelled when its client hangs up.
func TestClientGone(t *testing.T) { both(t, testClientGone) }

func testClientGone(t *testing.T, start serving) {
	svc := newService()
	running, cancelled := make(chan struct{}), make(chan struct{})
	svc.infer = func(ctx context.Context, _ *infer.Request) (*infer.Response, error) {
		close(running)
		<-ctx.Done()
		close(cancelled)
		return nil, ctx.Err()
	}
	addr := start(t, svc, httpapi.Options{})
	c, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	body := one(good)
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(body), body)
	require.NoError(t, err)
	<-running
	require.NoError(t, c.Close())
	<-cancelled
}

// TestLaterTexts: answers whose texts are those of Tritons after 2.51.
func TestLaterTexts(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		addr := start(t, newService(), httpapi.Options{})
		const outside = `{"error":"Unable to parse Inference-Header-Content-Length, value is out of range [ -2147483648, 2147483647 ], got: `
		for _, value := range []string{"2147483648", "-2147483649", "99999999999999999999"} {
			code, text := post(t, addr, inferPath, "{}", "Inference-Header-Content-Length", value)
			require.Equal(t, 400, code, value)
			require.Equal(t, outside+value+`"}`, text)
		}
		code, text := post(t, addr, "/v2/repository/index", `{"ready":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+"}")
		require.Equal(t, 400, code)
		require.Equal(t, `{"error":"Invalid value for 'ready': expected a boolean"}`, text)
	})
}
