package http1_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/connlimit"
	"triton/server/http1"
	"triton/server/http1/http1test"
)

// connect opens a connection and sends text.
func connect(t *testing.T, addr, text string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

const (
	liveRequest = "GET /live HTTP/1.1\r\nHost: x\r\n\r\n"
	readRequest = "POST " + readPath + " HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
)

// status reads a reply.
func status(t *testing.T, c net.Conn) int {
	t.Helper()
	reply, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	return reply.StatusCode
}

// Connections that are silent, that have sent a part of a head, or that wait between requests make
// room for others. Those with a request do not, whichever loop serves them: then others get 503,
// except at a port with a reserve.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	limit := connlimit.New(3)
	svc := newStub()
	started, release := make(chan struct{}), make(chan struct{})
	svc.handle = func(*http1.Exchange) {
		started <- struct{}{}
		<-release
	}
	addr := http1test.Start(t, http1.NewServer(svc, http1.Options{Limit: limit}))
	metrics := http1test.Start(t, http1.NewServer(newStub(), http1.Options{Limit: limit, Reserved: true}))

	// replace opens a connection that takes the place of an idle one. A connection is idle a moment
	// after its client has the reply.
	replace := func(text string) net.Conn {
		for {
			evicted, refused := limit.Evicted(), limit.Refused()
			c := connect(t, addr, text)
			for limit.Evicted() == evicted && limit.Refused() == refused {
				time.Sleep(time.Millisecond)
			}
			if limit.Evicted() > evicted {
				return c
			}
		}
	}
	kept := connect(t, addr, liveRequest)
	require.Equal(t, 200, status(t, kept))
	busy := connect(t, addr, readRequest+"x")
	<-started
	chunked := connect(t, addr, "POST "+readPath+" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
	<-started
	for _, text := range []string{"GET /li", "", liveRequest} {
		silent := replace(text)
		_, err := io.Copy(io.Discard, kept)
		require.NoError(t, err)
		kept = silent
	}
	require.Equal(t, 200, status(t, kept))
	require.Equal(t, uint64(3), limit.Evicted())

	third := replace(readRequest + "x")
	<-started
	_, err := io.Copy(io.Discard, kept)
	require.NoError(t, err)
	require.Equal(t, 503, status(t, connect(t, addr, liveRequest)))
	require.Equal(t, 200, status(t, connect(t, metrics, liveRequest)))
	close(release)
	for _, c := range []net.Conn{busy, chunked, third} {
		require.Equal(t, 200, status(t, c), "requests are never cut off")
	}
	require.Equal(t, 200, status(t, replace(liveRequest)))
}
