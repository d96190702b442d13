package http1

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestDrainTwice: every concurrent drain returns when no request is in flight.
func TestDrainTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		e := newSessions(0)
		e.count(1)
		drained := make(chan error, 3)
		for range cap(drained) {
			go func() { drained <- e.drain(ctx) }()
		}
		synctest.Wait()
		e.count(-1)
		for range cap(drained) {
			require.NoError(t, <-drained)
		}
	})
}

// TestBrokenHandshakeIsNotAwaited: reads behind an interrupted TLS handshake fail forever, so they
// are not repeated.
func TestBrokenHandshakeIsNotAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, far := net.Pipe()
		defer client.Close()
		e := newSessions(time.Second)
		nc := tls.Server(far, &tls.Config{MinVersion: tls.VersionTLS12})
		defer nc.Close()
		s := e.add(nc, nil, true, 0)
		s.markIdle()
		e.startDrain()
		e.closeIdle()
		go func() { _, _ = client.Write([]byte{0x16, 3, 1}) }()
		_, err := nc.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		e.touch() // a request over another connection
		require.False(t, s.retries(err))
	})
}

// TestDeadlineOfAClosingSession: the check whether a session closes and the new deadline are one
// critical section.
func TestDeadlineOfAClosingSession(t *testing.T) {
	t.Parallel()
	nc := &lockedDeadline{}
	s := newSessions(0).add(nc, nil, true, 0)
	nc.session = s
	s.markIdle()
	m := &netHTTPConn{Conn: nc, session: s}
	require.NoError(t, m.SetReadDeadline(time.Time{}))
	require.Equal(t, 1, nc.set)
	require.Zero(t, nc.open)
	s.sessions.closeIdle()
	require.Equal(t, 2, nc.set)
	require.NoError(t, m.SetReadDeadline(time.Time{}))
	require.Equal(t, 2, nc.set)
}

// lockedDeadline counts the deadlines that are set, and those set without the session's lock.
type lockedDeadline struct {
	net.Conn
	session   *session
	set, open int
}

func (c *lockedDeadline) SetReadDeadline(time.Time) error {
	c.set++
	if c.session.mu.TryLock() {
		c.session.mu.Unlock()
		c.open++
	}
	return nil
}

// halved is a pipe that can be half-closed.
type halved struct{ net.Conn }

func (halved) CloseWrite() error { return nil }

// TestLinger: the rest of a refused body is awaited while it arrives fast enough and the server
// does not drain.
func TestLinger(t *testing.T) {
	const every = 100 * time.Millisecond
	for name, c := range map[string]struct {
		left   int64
		piece  int
		pieces int           // that the client wants to send
		drain  time.Duration // after which the server drains; 0: never
		abort  time.Duration
		sent   int
	}{
		"fast enough":  {left: 1000 * 200, piece: 200, pieces: 1000, sent: 1000},
		"too slow":     {left: 1000 * 200, piece: 20, pieces: 1000, sent: 50},
		"unknown":      {left: 0, piece: 200, pieces: 1000, sent: 50},
		"too much":     {left: 100 * 200, piece: 200, pieces: 1000, sent: 150},
		"while drain":  {left: 1000 * 200, piece: 200, pieces: 1000, drain: 12 * time.Second, sent: 200},
		"aborted":      {left: 1000 * 200, piece: 200, pieces: 1000, abort: 12 * time.Second, sent: 120},
		"ends earlier": {left: 1000 * 200, piece: 200, pieces: 30, sent: 30},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				client, far := net.Pipe()
				e := newSessions(0)
				s := e.add(halved{far}, nil, true, 0)
				s.expect(c.left, newPace(240))
				if c.drain > 0 {
					time.AfterFunc(c.drain, func() { _ = e.startDrain() })
				}
				if c.abort > 0 {
					time.AfterFunc(c.abort, e.abort)
				}
				left := make(chan struct{})
				go func() {
					defer close(left)
					s.end(true)
				}()
				sent := 0
				for range c.pieces {
					if _, err := client.Write(make([]byte, c.piece)); err != nil {
						require.True(t, errors.Is(err, io.ErrClosedPipe), err)
						break
					}
					sent++
					time.Sleep(every)
				}
				require.NoError(t, client.Close())
				<-left
				require.InDelta(t, c.sent, sent, 1)
				require.Zero(t, e.open())
			})
		})
	}
}
