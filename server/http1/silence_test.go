package http1_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
)

// TestStreamPauses: a stream that pauses for longer than writeTimeout is completed.
func TestStreamPauses(t *testing.T) {
	for transport, framed := range framings(`{"COUNT":1}`) {
		for _, events := range []int{0, 1, 2} {
			t.Run(fmt.Sprintf("%s, %d events", transport, events), func(t *testing.T) {
				inBubble(t, func(t *testing.T, svc *stub, c net.Conn) {
					svc.handle = func(x *http1.Exchange) {
						for range events {
							_ = x.Chunk([]byte("data: {}\n\n"))
							_ = x.Flush(false)
							time.Sleep(writeTimeout/4 - time.Second)
						}
						time.Sleep(2 * writeTimeout)
						_ = x.Flush(true)
					}
					_, err := io.WriteString(c, "POST /read HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+framed)
					require.NoError(t, err)
					text, err := io.ReadAll(c)
					require.NoError(t, err)
					require.Equal(t, events, strings.Count(string(text), "data: "))
					require.True(t, strings.HasSuffix(string(text), "\r\n0\r\n\r\n"), "%q", text)
				})
			})
		}
	}
}

// framings are the framing headers and bodies of requests that each transport serves.
func framings(body string) map[string]string {
	return map[string]string{
		"own":      fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body),
		"net/http": fmt.Sprintf("Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", len(body), body),
	}
}

// TestReplyLate: a reply without a body may come later than writeTimeout.
func TestReplyLate(t *testing.T) {
	for transport, framed := range framings("{}") {
		t.Run(transport, func(t *testing.T) {
			inBubble(t, func(t *testing.T, svc *stub, c net.Conn) {
				svc.handle = func(*http1.Exchange) { time.Sleep(2 * writeTimeout) }
				_, err := io.WriteString(c, "POST /read HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+framed)
				require.NoError(t, err)
				text, err := io.ReadAll(c)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(string(text), "HTTP/1.1 200 OK\r\n"), "%q", text)
			})
		})
	}
}

// writeTimeout is the constant of the server.
const writeTimeout = 2 * time.Minute
