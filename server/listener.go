package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/mem"

	"triton/pkg/nonblock"
	"triton/pkg/status"
	"triton/server/access"
	"triton/server/connlimit"
	"triton/server/http1"
)

// listen opens the port of a service.
func listen(e Endpoint, name string) (net.Listener, error) {
	if e.Inherited != nil {
		return inherited{access.WithPeers(e.Inherited)}, nil
	}
	if path, ok := access.UnixPath(e.Address); ok {
		l, err := access.ListenUnix(path)
		if err != nil {
			return nil, startError(name, &status.Error{Code: status.Unavailable, Msg: fmt.Sprintf("cannot listen at '%s': %v", e, err), Cause: err})
		}
		return l, nil
	}
	network := "tcp"
	if net.ParseIP(e.Address).To4() != nil {
		network = "tcp4" // Go would open 0.0.0.0 for IPv6 too
	}
	l, err := listenConfig(e.Reuse).Listen(context.Background(), network, e.String())
	if err != nil {
		msg := fmt.Sprintf("cannot listen at '%s': %v", e, err)
		if inUse(err) {
			msg = fmt.Sprintf("Socket '%s' already in use ", e)
		}
		return nil, startError(name, &status.Error{Code: status.Unavailable, Msg: msg, Cause: err})
	}
	return l, nil
}

// inherited hides the socket of a listener. Before a listener is closed, its socket is shut down
// (stopListening), which would end it for whoever opened it, too: a service manager keeps it for
// the next server, with the connections that wait to be accepted.
type inherited struct{ net.Listener }

// countingListener counts its open connections and tracks their handshakes.
type countingListener struct {
	net.Listener
	limit      *connlimit.Limit
	open       atomic.Int64
	handshakes handshakes
}

func (l *countingListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if outOfFiles(err) { // gRPC tries again
				l.limit.Shed(connlimit.ShedAtOnce)
			}
			return nil, err
		}
		given, ok := c.(http1.HTTP2Conn) // whose use has begun
		use := given.Use
		if ok {
			c = given.Conn
		} else if use, ok = l.limit.Open(func() { _ = c.Close() }, false); !ok {
			_ = c.Close()
			continue
		}
		l.open.Add(1)
		l.handshakes.begin(c)
		return &countedConn{
			Conn: c, open: &l.open, handshakes: &l.handshakes, ready: newReadyReader(c), out: nonblock.New(c), use: use, first: given.First,
		}, nil
	}
}

type countedConn struct {
	net.Conn
	open       *atomic.Int64
	handshakes *handshakes
	closed     atomic.Bool
	ready      *readyReader
	out        *nonblock.Conn // nil: Conn itself
	use        *connlimit.Conn
	first      []byte // what somebody else has read
}

// Use returns what tells the limit of connections when this one is idle.
func (c *countedConn) Use() *connlimit.Conn { return c.use }

// Read is used for connections with TLS.
func (c *countedConn) Read(b []byte) (int, error) {
	if n := copy(b, c.first); n > 0 {
		c.first = c.first[n:]
		return n, nil
	}
	n, err := c.Conn.Read(b)
	c.use.Active()
	return n, err
}

// NetConn returns the connection below, which may prove who the client is.
func (c *countedConn) NetConn() net.Conn { return c.Conn }

// SetDeadline is called by gRPC before and after the handshake.
func (c *countedConn) SetDeadline(t time.Time) error { return c.handshakes.setDeadline(c.Conn, t) }

// ReadOnReady waits for data and then reads it into a buffer of the pool, so that an idle
// connection holds no buffer. gRPC looks for a method of this name and these types.
func (c *countedConn) ReadOnReady(size int, pool mem.BufferPool) (*[]byte, int, error) {
	if c.ready == nil || len(c.first) > 0 {
		b := pool.Get(size)
		n, err := c.Read(*b)
		return b, n, err
	}
	b, n, err := c.ready.read(size, pool)
	c.use.Active()
	return b, n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	if c.out == nil {
		return c.Conn.Write(b)
	}
	return c.out.Write(b)
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.open.Add(-1)
		c.handshakes.end(c.Conn)
		c.use.Close()
	}
	if t, ok := c.Conn.(interface{ NetConn() net.Conn }); ok { // the farewell of TLS could wait for the client
		return t.NetConn().Close()
	}
	return c.Conn.Close()
}

// drainingListener is a listener that, when closed, first accepts the connections that
// the system has already completed: closing at once would reset them.
type drainingListener struct {
	net.Listener
	closing atomic.Bool
}

// A closing listener waits acceptWait for connections that are being opened, then until
// all of them are accepted, but no longer than acceptLimit.
const (
	acceptWait  = 10 * time.Millisecond
	acceptLimit = time.Second
)

func (l *drainingListener) Accept() (net.Conn, error) {
	var limit time.Time
	for {
		c, err := l.Listener.Accept()
		if err == nil || !l.closing.Load() || !errors.Is(err, os.ErrDeadlineExceeded) {
			return c, err
		}
		now := time.Now()
		if limit.IsZero() {
			limit = now.Add(acceptLimit)
		}
		if now.After(limit) || stopListening(l.Listener) || l.acceptUntil(now.Add(acceptWait)) != nil {
			return nil, errors.Join(net.ErrClosed, l.Listener.Close())
		}
	}
}

// Close starts the drain; Accept closes the listener when no more connections arrive.
func (l *drainingListener) Close() error {
	if !l.closing.Swap(true) && l.acceptUntil(time.Now().Add(acceptWait)) == nil {
		return nil
	}
	return l.Listener.Close()
}

// acceptUntil sets the deadline of Accept.
func (l *drainingListener) acceptUntil(at time.Time) error {
	d, ok := l.Listener.(interface{ SetDeadline(time.Time) error })
	if !ok {
		return errors.ErrUnsupported
	}
	return d.SetDeadline(at)
}
