package server_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/servertest"
)

// outcomes counts the results of the requests of many clients.
type outcomes struct {
	answered, told, ended, reset, refused, odd atomic.Int64

	last atomic.Pointer[error] // of reset and odd
}

func (o *outcomes) String() string {
	text := fmt.Sprintf("%d answered, %d got Connection: close, %d met the end of their connection, %d a reset, %d refused, %d something else",
		o.answered.Load(), o.told.Load(), o.ended.Load(), o.reset.Load(), o.refused.Load(), o.odd.Load())
	if err := o.last.Load(); err != nil {
		text += fmt.Sprintf(" (%v)", *err)
	}
	return text
}

func (o *outcomes) failed(err error) {
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		o.ended.Add(1)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		o.last.Store(&err)
		o.reset.Add(1)
	default:
		o.last.Store(&err)
		o.odd.Add(1)
	}
}

// lost is failed for request n of a connection. A new connection that the system
// has made and the server not yet accepted when its port closes is reset by the
// system: that is how it refuses.
func (o *outcomes) lost(err error, addr string, n int) {
	if n == 0 && errors.Is(err, syscall.ECONNRESET) {
		if _, closed := net.Dial("tcp", addr); refuses(closed) {
			o.refused.Add(1)
			return
		}
	}
	o.failed(err)
}

// refuses reports whether dialing failed because the port is closed, or was closed
// after the system had made the connection.
func refuses(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

// ask sends requests over connections that it keeps open as long as the server allows, until
// the port is closed. net/http answers the chunked ones.
func (o *outcomes) ask(addr string, chunked bool, pause time.Duration) {
	for {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			if !refuses(err) {
				o.failed(err)
			}
			return
		}
		o.keep(conn, addr, chunked, pause)
		conn.Close()
	}
}

func (o *outcomes) keep(conn net.Conn, addr string, chunked bool, pause time.Duration) {
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	in := bufio.NewReader(conn)
	for n := 0; ; n++ {
		if pause > 0 {
			time.Sleep(rand.N(pause))
		}
		req, err := http.NewRequest(http.MethodPost, "http://"+addr+"/v2/models/m/infer", strings.NewReader(body))
		if err != nil {
			o.failed(err)
			return
		}
		if chunked {
			req.ContentLength = -1
		}
		var text bytes.Buffer // Request.Write hides the errors of a connection
		_ = req.Write(&text)
		if _, err := conn.Write(text.Bytes()); err != nil {
			o.lost(err, addr, n)
			return
		}
		resp, err := http.ReadResponse(in, req)
		if err == nil && resp.StatusCode == http.StatusOK {
			_, err = io.Copy(io.Discard, resp.Body)
		} else if err == nil {
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if err != nil {
			o.lost(err, addr, n)
			return
		}
		o.answered.Add(1)
		if resp.Close {
			o.told.Add(1)
			return
		}
	}
}

// drainUnderLoad ends several servers, one after the other, while clients send requests to
// each.
func drainUnderLoad(t *testing.T, idleGrace, pause time.Duration) *outcomes {
	t.Helper()
	const ends, clients, before = 5, 12, 200
	var o outcomes
	for range ends {
		s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "4", 8)),
			servertest.With(func(o *server.Options) { o.HTTP.IdleGrace = idleGrace }))
		var all sync.WaitGroup
		begun := o.answered.Load()
		for i := range clients {
			all.Go(func() { o.ask(s.HTTP, i%3 == 0, pause) })
		}
		require.Eventually(t, func() bool { return o.answered.Load()-begun > before }, time.Minute, time.Millisecond)
		s.Interrupt()
		require.NoError(t, s.Wait())
		all.Wait()
	}
	t.Log(&o)
	require.Zero(t, o.reset.Load(), &o)
	require.Zero(t, o.odd.Load(), &o)
	return &o
}

// TestDrainResetsNone: a request that is on its way while the server ends is answered if its
// connection is still open. No connection is reset.
func TestDrainResetsNone(t *testing.T) {
	t.Parallel()
	t.Run("busy clients", func(t *testing.T) {
		t.Parallel()
		o := drainUnderLoad(t, 10*time.Second, 0)
		require.Zero(t, o.ended.Load(), o)
		require.NotZero(t, o.told.Load(), o)
	})
	t.Run("clients that pause", func(t *testing.T) {
		t.Parallel()
		o := drainUnderLoad(t, 10*time.Second, 30*time.Millisecond)
		require.Zero(t, o.ended.Load(), o)
	})
	t.Run("a short idle grace", func(t *testing.T) {
		t.Parallel()
		drainUnderLoad(t, time.Millisecond, 50*time.Millisecond)
	})
}
