package httpapi

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"triton/server/infer"
)

// Server serves the front end on its own HTTP/1.1 connection loop, which takes
// the requests that clients of the protocol send at about half the cost of
// net/http. A connection whose next request is out of the ordinary (chunked,
// Expect, Upgrade, HTTP/1.0, malformed, ...) moves over to net/http with all
// that was read from it and stays there.
type Server struct {
	api     *api
	pace    pace
	end     *ending
	unusual *Standard
	moved   movedConns
	// elsewhere is net/http's accept loop over moved.
	elsewhere sync.WaitGroup
}

// maxHead bounds a request's line and headers.
const maxHead = 64 << 10

// NewServer makes the server. It starts nothing.
func NewServer(svc infer.Service, o Options) *Server {
	s := &Server{api: newAPI(svc, o), end: newEnding(o.Linger)}
	s.pace = s.api.pace
	s.moved.ch, s.moved.done = make(chan *movedConn), make(chan struct{})
	s.unusual = newStandard(&handler{api: s.api}, s.api.log, s.end)
	return s
}

// Serve accepts connections until Drain, Shutdown or Close and then returns
// http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	if !s.end.accept(l) {
		return http.ErrServerClosed
	}
	defer s.end.accepted()
	s.moved.addr = l.Addr()
	s.elsewhere.Go(func() { _ = s.unusual.http.Serve(&s.moved) })
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			s.start(nc)
		case s.end.draining():
			return http.ErrServerClosed
		case !transient(err):
			return err
		default: // out of file descriptors, mostly: some will come free
			wait = min(max(2*wait, 5*time.Millisecond), time.Second)
			s.api.log.Error("cannot accept HTTP connections", "error", err, "retry", wait)
			time.Sleep(wait)
		}
	}
}

func transient(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Temporary() //nolint:staticcheck // accept has no other sign
}

// start serves a connection. A listener may still hand over some that came
// before it was closed; each of those gets one request answered.
func (s *Server) start(nc net.Conn) {
	switch at := s.end.add(nc, s.api.opts.MaxConnections); {
	case at == nil:
		_ = nc.Close()
	case at.refused:
		go turnAway(at)
	default:
		go newConn(s, nc, at).run()
	}
}

// Connections is the number of open connections.
func (s *Server) Connections() int64 { return s.end.open() }

// Drain takes no new connections and waits until no request is in flight. What
// arrives on open connections is answered meanwhile, and afterwards, with the
// remark to close. When ctx ends first its error is returned.
func (s *Server) Drain(ctx context.Context) error { return s.end.drain(ctx) }

// Shutdown is Drain, then closes the connections that stay idle for the linger
// time and waits for all to end. When ctx ends first its error is returned;
// Close ends the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	if err := s.end.finish(ctx); err != nil {
		return err
	}
	s.moved.end()
	s.elsewhere.Wait()
	return s.unusual.http.Shutdown(ctx)
}

// Close ends everything at once.
func (s *Server) Close() error {
	s.end.cut()
	s.moved.end()
	return s.unusual.http.Close()
}
