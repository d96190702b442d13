package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/servertest"
)

// TestConcurrentLimit holds the only place of a caller with a request whose body does not come. The
// place is free again after its answer, and after its client has gone.
func TestConcurrentLimit(t *testing.T) {
	t.Parallel()
	keys, o := rights(t, `
rules:
- {who: ['*'], allow: ['*'], models: ['*']}
limits:
- {who: ['*'], concurrent_requests: 1}
`, "a", "b")
	s := servertest.Start(t, identityModel("m"), o)
	c, url := newClient(t), "http://"+s.HTTP+"/v2/models/m/infer"
	for _, leaves := range []bool{false, true} {
		conn, in := hold(t, s.HTTP, keys["a"])
		resp := replyTo(t, c, url, keys["a"], oneInt)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.Equal(t, "1", resp.Header.Get("Retry-After"))
		require.Equal(t, http.StatusOK, replyTo(t, c, url, keys["b"], oneInt).StatusCode, "another caller")
		if leaves {
			require.NoError(t, conn.Close())
		} else {
			_, err := io.WriteString(conn, oneInt)
			require.NoError(t, err)
			resp, err := http.ReadResponse(in, nil)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, http.StatusOK, resp.StatusCode)
		}
		until := time.Now().Add(time.Minute)
		for replyTo(t, c, url, keys["a"], oneInt).StatusCode != http.StatusOK { // it ends after its answer
			require.True(t, time.Now().Before(until), "the place is not free")
		}
	}
}

// hold sends the header of a request and returns when it was let in. The caller's last request may
// not have ended yet.
func hold(t *testing.T, addr, key string) (net.Conn, *bufio.Reader) {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		_, err = fmt.Fprintf(conn, "POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", key, len(oneInt))
		require.NoError(t, err)
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if strings.Contains(line, " 100 ") {
			_, err = in.ReadString('\n')
			require.NoError(t, err)
			return conn, in
		}
		require.Contains(t, line, " 429 ")
		require.True(t, time.Now().Before(until), "the place is not free")
	}
}
