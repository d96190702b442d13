//go:build unix

package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/httpapi"
	"triton/server/memory"
)

// TestHostileClients: each does its worst for as long as the test runs, and
// another client is served meanwhile.
func TestHostileClients(t *testing.T) {
	for name, text := range map[string]string{
		"no request":          "",
		"half a line":         "POST /v2/mod",
		"half a head":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"half a long head":    "GET /v2 HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("a", 7<<10),
		"a head without end":  "GET /v2 HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X-Many: a\r\n", 2000),
		"no body":             "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 2147483647\r\n\r\n",
		"half a body":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\nInference-Header-Content-Length: 2\r\n\r\n{}abc",
		"half a chunk":        "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n{",
		"half a gzip":         "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n\x1f\x8b\x08",
		"half a generate":     "POST /v2/models/g_one/generate HTTP/1.1\r\nHost: x\r\nContent-Length: 60000000\r\n\r\n{\"INPUT0\":",
		"waits for continue":  "POST " + inferPath + " HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1000\r\n\r\n",
		"zeros":               strings.Repeat("\x00", 100<<10),
		"a TLS hello":         "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"a preface of HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
	} {
		for _, closeWrite := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, half-closed %v", name, closeWrite), func(t *testing.T) {
				t.Parallel()
				both(t, func(t *testing.T, start serving) {
					budget := memory.New(256 << 20)
					svc := newStub(tensor.NewPoolOf(tensor.PoolOptions{Account: budget.Pools()}))
					addr := start(t, svc, httpapi.Options{Memory: budget})
					for range 20 {
						c, err := net.Dial("tcp", addr)
						require.NoError(t, err)
						defer c.Close()
						_, _ = io.WriteString(c, text)
						if closeWrite {
							_ = c.(*net.TCPConn).CloseWrite()
						}
					}
					code, answer := post(t, addr, inferPath, one(good))
					require.Equal(t, 200, code, answer)
					require.LessOrEqual(t, budget.Total(), budget.Limit(), "what does not fit is refused")
				})
			})
		}
	}
}

// TestNeverReads: a client that does not read large replies holds their memory and delays no
// other client.
func TestNeverReads(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		addr := start(t, svc, httpapi.Options{})
		n := 16 << 20
		head := one(fp32+fmt.Sprintf(`"shape":[%d],"parameters":{"binary_data_size":%d}`, n/4, n), `,"parameters":{"binary_data_output":true}`)
		data := make([]byte, n)
		for range 3 {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer c.Close()
			require.NoError(t, c.(*net.TCPConn).SetReadBuffer(4<<10))
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s", inferPath, len(head), len(head)+n, head)
			_, err = c.Write(data)
			require.NoError(t, err)
		}
		code, answer := post(t, addr, inferPath, one(good))
		require.Equal(t, 200, code, answer)
	})
}
