package http2

import (
	"errors"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// Server serves the methods of services.
type Server struct {
	opts     Options
	services map[string]*service
	calls    chan *stream   // to the workers
	workers  sync.WaitGroup // goroutines that end with the server
	handlers sync.WaitGroup
	serving  sync.WaitGroup // calls of Serve and connections

	mu        sync.Mutex
	started   bool // Serve was called
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	draining  bool
	stopped   bool
	ended     chan struct{} // is closed when the server has stopped
}

// service is what was registered under a name.
type service struct {
	impl    any
	methods map[string]*method
	info    grpc.ServiceInfo
}

// method is a method of a service.
type method struct {
	service *service
	name    string // with its service, as clients send it
	desc    grpc.StreamDesc
}

// unary reports whether a call has one message in each direction.
func (m *method) unary() bool { return !m.desc.ClientStreams && !m.desc.ServerStreams }

// NewServer makes a server without services.
func NewServer(o Options) *Server {
	o = o.complete()
	return &Server{
		opts: o, services: map[string]*service{}, calls: make(chan *stream),
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{}, ended: make(chan struct{}),
	}
}

// RegisterService implements grpc.ServiceRegistrar. Like that of grpc-go it panics on mistakes of the program.
func (s *Server) RegisterService(desc *grpc.ServiceDesc, impl any) {
	if impl != nil {
		if want := reflect.TypeOf(desc.HandlerType).Elem(); !reflect.TypeOf(impl).Implements(want) {
			panic("http2: the handler of " + desc.ServiceName + " does not implement " + want.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.services[desc.ServiceName]; twice || s.started {
		panic("http2: the service " + desc.ServiceName + " is registered twice, or after Serve")
	}
	svc := &service{impl: impl, methods: map[string]*method{}, info: grpc.ServiceInfo{Metadata: desc.Metadata}}
	add := func(d grpc.StreamDesc) {
		svc.methods[d.StreamName] = &method{svc, "/" + desc.ServiceName + "/" + d.StreamName, d}
		svc.info.Methods = append(svc.info.Methods, grpc.MethodInfo{
			Name: d.StreamName, IsClientStream: d.ClientStreams, IsServerStream: d.ServerStreams,
		})
	}
	for _, m := range desc.Methods {
		add(grpc.StreamDesc{StreamName: m.MethodName, Handler: func(impl any, conn grpc.ServerStream) error {
			reply, err := m.Handler(impl, conn.Context(), conn.RecvMsg, nil)
			if err != nil {
				return err
			}
			return conn.SendMsg(reply)
		}})
	}
	for _, d := range desc.Streams {
		add(d)
	}
	s.services[desc.ServiceName] = svc
}

// GetServiceInfo returns the services, for reflection.
func (s *Server) GetServiceInfo() map[string]grpc.ServiceInfo {
	all := make(map[string]grpc.ServiceInfo, len(s.services))
	for name, svc := range s.services {
		all[name] = svc.info
	}
	return all
}

// find returns the method of a path; nil and the reason if there is none.
func (s *Server) find(path string) (m *method, missing string) {
	name, slash := strings.CutPrefix(path, "/")
	i := strings.LastIndexByte(name, '/')
	if !slash || i < 0 {
		return nil, "malformed method name: \"" + path + "\""
	}
	svc := s.services[name[:i]]
	if svc == nil {
		return nil, "unknown service " + name[:i]
	}
	if m = svc.methods[name[i+1:]]; m == nil {
		return nil, "unknown method " + name[i+1:] + " for service " + name[:i]
	}
	return m, ""
}

// Serve accepts connections until Stop or GracefulStop, and returns nil then.
func (s *Server) Serve(l net.Listener) error {
	s.mu.Lock()
	if s.stopped || s.draining {
		s.mu.Unlock()
		_ = l.Close()
		return grpc.ErrServerStopped
	}
	s.serving.Add(1)
	defer s.serving.Done()
	if !s.started {
		s.started = true
		for range s.opts.Workers {
			s.workers.Go(s.work)
		}
		s.workers.Go(s.trimIdle)
	}
	s.listeners[l] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.listeners, l)
		s.mu.Unlock()
		_ = l.Close()
	}()
	return s.accept(l)
}

func (s *Server) accept(l net.Listener) error {
	for wait := time.Duration(0); ; {
		raw, err := l.Accept()
		if err == nil {
			wait = 0
			s.start(raw)
			continue
		}
		s.mu.Lock()
		ending := s.stopped || s.draining
		s.mu.Unlock()
		if ending {
			return nil
		}
		if !temporary(err) {
			return err
		}
		wait = min(max(2*wait, 5*time.Millisecond), time.Second)
		s.opts.Log.Error("cannot accept gRPC connections", "error", err, "retry", wait)
		select {
		case <-time.After(wait):
		case <-s.ended:
		}
	}
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

// start serves a connection.
func (s *Server) start(raw net.Conn) {
	c := newConn(s, raw)
	s.mu.Lock()
	if s.stopped {
		s.mu.Unlock()
		_ = raw.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.serving.Add(1)
	s.mu.Unlock()
	go c.serve()
}

// forget forgets a connection that has ended.
func (s *Server) forget(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.serving.Done()
}

// acceptNoMore closes the listeners after it has set a flag, and returns the connections.
func (s *Server) acceptNoMore(flag *bool) []*conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	*flag = true
	for l := range s.listeners {
		_ = l.Close()
	}
	return slices.Collect(maps.Keys(s.conns))
}

// GracefulStop accepts no more connections, asks all clients to use another one, and returns when their calls, and
// all handlers, have ended.
func (s *Server) GracefulStop() {
	for _, c := range s.acceptNoMore(&s.draining) {
		c.drain("graceful_stop")
	}
	s.serving.Wait()
	s.handlers.Wait()
	s.end()
}

// Stop ends all connections and calls. It does not wait for handlers.
func (s *Server) Stop() {
	for _, c := range s.acceptNoMore(&s.stopped) {
		c.close(errStopped)
	}
	s.serving.Wait()
	s.end()
}

// end ends the workers.
func (s *Server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	select {
	case <-s.ended:
	default:
		close(s.ended)
	}
}

// isDraining reports whether connections are to end after their calls.
func (s *Server) isDraining() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draining
}

// work handles calls until the server has ended.
func (s *Server) work() {
	for {
		select {
		case call := <-s.calls:
			call.run()
		case <-s.ended:
			return
		}
	}
}

// run handles a call on a worker that is idle, or on a goroutine of its own.
func (s *Server) run(call *stream) {
	select {
	case s.calls <- call:
	default:
		go call.run()
	}
}

var errStopped = errors.New("the server has stopped")
