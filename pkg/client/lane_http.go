package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
)

// httpLane is one keep-alive connection. It writes prepared bytes and reads the
// answer itself: net/http's client costs several times as much per request
// through its two goroutines, header maps and body hand-over.
type httpLane struct {
	address string
	conn    atomic.Pointer[net.TCPConn]
	closed  atomic.Bool
	vector  net.Buffers
	in      responseReader
	used    bool // the connection has carried a request
}

var _ Conn = (*httpLane)(nil)

// Dial opens the connection at once, so that the first request does not pay.
func (c *httpClient) Dial(ctx context.Context) (Conn, error) {
	l := &httpLane{address: c.address}
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
	conn, err := d.DialContext(ctx, "tcp", l.address)
	if err != nil {
		return connectError(err)
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return errors.Join(fmt.Errorf("%s: not a TCP connection", l.address), conn.Close())
	}
	l.conn.Store(tcp)
	if l.closed.Load() { // Close came while connecting
		return errors.Join(net.ErrClosed, tcp.Close())
	}
	l.used = false
	l.in.reset(tcp)
	return nil
}

func (l *httpLane) Do(ctx context.Context, p *Prepared, x *Exchange) error {
	x.Start = Now()
	err := l.exchange(ctx, p, x)
	if err != nil && l.used && !l.in.any && stale(err) && ctx.Err() == nil {
		// The server closed an idle connection while the request was under
		// way. Nothing was answered, so it is sent again, once.
		l.drop()
		err = l.exchange(ctx, p, x)
	}
	x.End = Now()
	if err != nil {
		return err
	}
	l.used = true
	if l.in.close {
		l.drop()
	}
	if l.in.status != http.StatusOK {
		return serverError(l.in.status, x.Body)
	}
	return nil
}

func (l *httpLane) exchange(ctx context.Context, p *Prepared, x *Exchange) error {
	conn := l.conn.Load()
	if conn == nil {
		if err := l.connect(ctx); err != nil {
			return err
		}
		conn = l.conn.Load()
	}
	begin := Now()
	if err := l.write(conn, p); err != nil {
		l.in.any = false
		l.drop()
		return fmt.Errorf("send the request: %w", err)
	}
	x.Send = Now() - begin
	if err := l.in.read(x); err != nil {
		l.drop()
		return fmt.Errorf("read the response: %w", err)
	}
	x.Receive = Now() - l.in.first
	return nil
}

func (l *httpLane) write(conn *net.TCPConn, p *Prepared) error {
	if len(p.segments) == 1 {
		_, err := conn.Write(p.segments[0])
		return err
	}
	l.vector = append(l.vector[:0], p.segments...)
	v := l.vector // WriteTo moves the slice it is called on
	_, err := v.WriteTo(conn)
	return err
}

// drop closes the connection; the next request opens another.
func (l *httpLane) drop() {
	if conn := l.conn.Swap(nil); conn != nil {
		_ = conn.Close()
	}
}

func (l *httpLane) Close() error {
	l.closed.Store(true)
	if conn := l.conn.Swap(nil); conn != nil {
		return conn.Close()
	}
	return nil
}

// stale says whether the error is one of a connection that its peer closed.
func stale(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}
