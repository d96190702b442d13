package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"triton/server/connlimit"
)

// Server serves a Handler with a connection loop that costs about half as much as net/http. The
// loop reads requests in the form that most clients use. A connection whose next request has
// another form (chunked, Expect, Upgrade, HTTP/1.0, malformed, ...) is handed over to net/http
// with all bytes that were read from it, and stays there.
type Server struct {
	core            *core
	max             int // connections; 0: no limit
	limit           *connlimit.Limit
	reserved        bool // its connections may use the reserve of limit
	http2           func(HTTP2Conn)
	sessions        *sessions
	netHTTP         *http.Server
	netHTTPListener netHTTPListener
	// netHTTPServing is net/http's accept loop over netHTTPListener.
	netHTTPServing sync.WaitGroup
}

// NewServer makes a server. It starts nothing.
func NewServer(h Handler, o Options) *Server {
	s := &Server{core: newCore(h, o), max: o.MaxConnections, limit: o.Limit, reserved: o.Reserved, http2: o.HTTP2, sessions: newSessions(o.IdleGrace)}
	s.netHTTPListener.ch, s.netHTTPListener.done = make(chan *netHTTPConn), make(chan struct{})
	s.netHTTP = newNetHTTPServer(s.core)
	return s
}

// Serve accepts connections until Drain, Shutdown or Close and then returns
// http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	if !s.sessions.beginAccepting(l) {
		return http.ErrServerClosed
	}
	defer s.sessions.endAccepting()
	s.netHTTPListener.addr = l.Addr()
	s.netHTTPServing.Go(func() { _ = s.netHTTP.Serve(&s.netHTTPListener) })
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			s.start(nc)
		case s.sessions.draining():
			return http.ErrServerClosed
		case !transient(err):
			return err
		default: // usually out of file descriptors
			s.limit.Shed(connlimit.ShedAtOnce)
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.core.log.Error("cannot accept HTTP connections", "error", err, "retry", wait)
			time.Sleep(wait)
		}
	}
}

func transient(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Temporary() //nolint:staticcheck // accept has no other sign
}

// start serves a connection. A closed listener may still return connections that were made
// before; on each of them one request is answered.
func (s *Server) start(nc net.Conn) {
	use, room := s.limit.Open(func() { closeAtOnce(nc) }, s.reserved)
	sess := s.sessions.add(nc, use, room, s.max)
	switch {
	case sess == nil:
		use.Close()
		closeAtOnce(nc)
	case sess.refused:
		go refuse(sess)
	default:
		go newConn(s, nc, sess).run()
	}
}

// closeAtOnce closes a connection without the farewell of TLS, which could wait for the client.
func closeAtOnce(nc net.Conn) {
	if inner := underlying(nc); inner != nil {
		nc = inner
	}
	_ = nc.Close()
}

// Connections returns the number of open connections.
func (s *Server) Connections() int64 { return s.sessions.open() }

// Leave makes every reply carry "Connection: close" from now on. Connections are still accepted,
// so clients move to other servers while this one still answers all of them.
func (s *Server) Leave() { s.sessions.leaving.Store(true) }

// Drain stops accepting connections and waits until no request is in flight. Requests that
// arrive on open connections are answered meanwhile, and afterwards, with "Connection: close".
// Drain returns the error of ctx when that ends first.
func (s *Server) Drain(ctx context.Context) error { return s.sessions.drain(ctx) }

// AwaitOpened stops accepting connections, as Drain does, and waits until each has begun its first request, has been
// given to Options.HTTP2, or has ended; or until ctx ends.
func (s *Server) AwaitOpened(ctx context.Context) { s.sessions.awaitOpened(ctx) }

// Shutdown drains, then closes the connections that stay idle for Options.IdleGrace and waits for
// all to end. It returns the error of ctx when that ends first; Close ends the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.sessions.finish(ctx); err != nil {
		return err
	}
	s.netHTTPListener.end()
	s.netHTTPServing.Wait()
	return s.netHTTP.Shutdown(ctx)
}

// Close ends everything at once.
func (s *Server) Close() error {
	s.sessions.abort()
	s.netHTTPListener.end()
	return s.netHTTP.Close()
}
