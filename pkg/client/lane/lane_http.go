package lane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"syscall"

	"triton/pkg/client/internal/wire"
	"triton/pkg/status"
)

// httpLane is one keep-alive connection. It writes prepared bytes and reads the
// response itself: net/http's client costs several times as much per request with
// its two goroutines, header maps and body copies.
type httpLane struct {
	endpoint *wire.Endpoint
	post     *PostOptions // nil: the KServe protocol
	conn     atomic.Pointer[openConn]
	closed   atomic.Bool
	watch    watch
	vector   net.Buffers // the parts of a request
	unsent   net.Buffers // those of vector that are not written
	in       responseReader
	used     bool // the connection has carried a request

	sequence []byte // the parameters of the sequence, while they are sent
}

var _ Conn = (*httpLane)(nil)

// openConn is an open connection.
type openConn struct{ net.Conn }

// dial connects at once, so that the first request does not include it.
func (c *httpClient) dial(ctx context.Context) (Conn, error) {
	l := &httpLane{endpoint: c.endpoint, post: c.post}
	if c.post != nil && c.post.Event != nil {
		l.in.events = &eventReader{judge: c.post.Event}
	}
	if err := l.connect(ctx); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *httpLane) connect(ctx context.Context) error {
	if l.closed.Load() {
		return net.ErrClosed
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", l.endpoint.Address)
	if err == nil {
		conn = wire.Brief(conn)
	}
	if err == nil && l.endpoint.TLS != nil {
		conn, err = handshake(ctx, conn, l.endpoint.TLS)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return wire.ConnectError(err)
	}
	l.conn.Store(&openConn{conn})
	// The lane was closed or the context ended while connecting.
	if err := ctx.Err(); err != nil {
		l.drop()
		return err
	}
	if l.closed.Load() {
		l.drop()
		return net.ErrClosed
	}
	l.used = false
	l.in.reset(conn)
	return nil
}

func handshake(ctx context.Context, conn net.Conn, config *tls.Config) (net.Conn, error) {
	secure := tls.Client(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return secure, nil
}

func (l *httpLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	if ctx.Done() != l.watch.done {
		if err := l.watch.bind(ctx, l.drop); err != nil {
			return err
		}
	}
	if l.post != nil {
		x.resetResponses()
	}
	x.Start = Now()
	sent, err := l.exchange(ctx, p, x)
	if err != nil && l.used && !l.in.started && stale(err) && (!sent || !p.sequence) && ctx.Err() == nil {
		// The server closed the idle connection while the request was on its
		// way. There is no response, so the request is sent again, once.
		_, err = l.exchange(ctx, p, x)
	}
	x.End = Now()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	l.used = true
	if l.in.close {
		l.drop()
	}
	return l.failure(x)
}

// exchange reports whether the whole request was written. After an error the
// connection is closed.
func (l *httpLane) exchange(ctx context.Context, p *Prepared, x *Exchange) (sent bool, err error) {
	conn := l.conn.Load()
	if conn == nil {
		if err := l.connect(ctx); err != nil {
			return false, err
		}
		if conn = l.conn.Load(); conn == nil {
			return false, net.ErrClosed // closed by another goroutine
		}
	}
	begin := Now()
	if err := l.write(conn.Conn, p, x.Sequence); err != nil {
		l.in.started = false
		l.drop()
		return false, fmt.Errorf("send the request: %w", err)
	}
	x.Send = Now() - begin
	if err := l.in.read(x); err != nil {
		l.drop()
		var refused *status.Error // of an event
		if errors.As(err, &refused) {
			return true, err
		}
		return true, fmt.Errorf("read the response: %w", err)
	}
	x.Receive = Now() - l.in.first
	return true, nil
}

func (l *httpLane) write(conn net.Conn, p *Prepared, s Sequence) error {
	if len(p.segments) == 1 {
		_, err := conn.Write(p.segments[0])
		return err
	}
	l.vector = l.vector[:0]
	if p.addSequence {
		l.sequence = appendSequenceJSON(l.sequence[:0], s)
		l.vector = append(l.vector, p.segments[0], l.sequence)
		l.vector = append(l.vector, p.segments[1:]...)
	} else {
		l.vector = append(l.vector, p.segments...)
	}
	l.unsent = l.vector // WriteBuffers moves the slice it is called on, which would escape as a variable
	return wire.WriteBuffers(conn, &l.unsent)
}

// drop closes the connection; the next request opens another. It may be called
// from any goroutine.
func (l *httpLane) drop() {
	if conn := l.conn.Swap(nil); conn != nil {
		_ = conn.Close()
	}
}

func (l *httpLane) Close() error {
	l.closed.Store(true)
	l.watch.close()
	if conn := l.conn.Swap(nil); conn != nil {
		return conn.Close()
	}
	return nil
}

// stale reports whether the peer has closed the connection.
func stale(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
