package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
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
	unusual *http.Server
	moved   movedConns
	linger  time.Duration

	mu struct {
		sync.Mutex
		listener net.Listener
		conns    map[*conn]struct{}
		closing  bool // takes no new connections
		closed   bool // and serves none
	}
	count   atomic.Int64
	running sync.WaitGroup // Serve and the connections that have not moved
	// elsewhere is the net/http side and the connections there. All of its
	// additions come from what running counts.
	elsewhere sync.WaitGroup
}

// maxHead bounds a request's line and headers.
const maxHead = 64 << 10

// NewServer makes the server. It starts nothing.
func NewServer(svc infer.Service, o Options) *Server {
	s := &Server{api: newAPI(svc, o), linger: o.Linger}
	if s.linger <= 0 {
		s.linger = defaultLinger
	}
	s.mu.conns = map[*conn]struct{}{}
	s.moved.ch, s.moved.done = make(chan net.Conn), make(chan struct{})
	s.unusual = &http.Server{
		Handler:           &handler{api: s.api},
		ReadHeaderTimeout: headTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(s.api.log.Handler(), slog.LevelDebug),
	}
	return s
}

// Serve accepts connections until Shutdown or Close and then returns
// http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.mu.closing {
		s.mu.Unlock()
		_ = l.Close()
		return http.ErrServerClosed
	}
	s.mu.listener = l
	s.moved.addr = l.Addr()
	s.elsewhere.Go(func() { _ = s.unusual.Serve(&s.moved) })
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	for wait := time.Duration(0); ; {
		nc, err := l.Accept()
		switch {
		case err == nil:
			wait = 0
			s.start(nc)
		case s.closing():
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
	c := newConn(s, nc)
	s.mu.Lock()
	if s.mu.closed {
		s.mu.Unlock()
		_ = nc.Close()
		return
	}
	c.mu.drain = s.mu.closing
	s.mu.conns[c] = struct{}{}
	s.running.Add(1)
	s.mu.Unlock()
	s.count.Add(1)
	go func() {
		defer s.running.Done()
		c.run()
		s.mu.Lock()
		delete(s.mu.conns, c)
		s.mu.Unlock()
	}()
}

// Connections is the number of open connections.
func (s *Server) Connections() int64 { return s.count.Load() }

func (s *Server) closing() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.closing
}

// Shutdown takes no new connections, closes idle ones and waits for requests in
// flight. A request that has arrived is still answered. When ctx ends first
// its error is returned; Close ends the rest.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop((*conn).drain)
	s.unusual.SetKeepAlivesEnabled(false)
	done := make(chan error, 1)
	go func() {
		s.running.Wait() // until then a connection may still move
		s.moved.end()
		s.elsewhere.Wait() // net/http's own Shutdown drops requests that it has just read
		done <- s.unusual.Shutdown(ctx)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close ends everything at once.
func (s *Server) Close() error {
	s.mu.Lock()
	s.mu.closed = true
	s.mu.Unlock()
	s.stop(func(c *conn) {
		c.cancel()
		_ = c.nc.Close()
	})
	s.moved.end()
	return s.unusual.Close()
}

func (s *Server) stop(each func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.closing = true
	if s.mu.listener != nil {
		_ = s.mu.listener.Close()
	}
	for c := range s.mu.conns {
		each(c)
	}
}
