package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"triton/pkg/status"
	"triton/server/grpcapi"
	"triton/server/http1"
	"triton/server/httpapi"
)

// frontend is one service with a port.
type frontend interface {
	name() string
	// serve blocks until drain.
	serve() error
	// drain stops accepting connections and waits for the requests in flight,
	// until ctx ends. Requests that arrive on open connections meanwhile are
	// answered, unless the protocol lets the frontend first ask clients to use another
	// connection.
	drain(ctx context.Context)
	// close is called after drain, or while drain still waits, and closes the
	// idle connections. When ctx ends, it closes the remaining ones too.
	close(ctx context.Context)
	// waiting returns the number of requests or connections that a drain waits for, and
	// their noun.
	waiting() (n int64, what string)
}

// starter describes how one service starts.
type starter struct {
	Endpoint
	TLS         TLS
	alpn        []string // over TLS
	name        string   // in errors
	logName     string   // in the log
	newFrontend func(net.Listener, *tls.Config) (frontend, error)
}

// starters returns the services in the order in which Triton starts them.
func (s *Server) starters() []starter {
	o := &s.opts
	return []starter{
		{o.GRPC.Endpoint, o.GRPC.TLS, []string{"h2"}, "GRPC", "GRPCInferenceService", s.newGRPC},
		{o.HTTP.Endpoint, o.HTTP.TLS, []string{"http/1.1"}, "HTTP", "HTTPService", s.newHTTP},
		{o.SageMaker.Endpoint, TLS{}, nil, "Sagemaker", "Sagemaker HTTPService", s.newSageMaker},
		{o.Vertex.Endpoint, TLS{}, nil, "Vertex AI", "Vertex AI HTTPService", s.newVertex},
		{o.Metrics.Endpoint, o.Metrics.TLS, []string{"http/1.1"}, "Metrics", "Metrics Service", s.newMetrics},
	}
}

// checkTLS reads the certificates, so that a mistake shows before the models load,
// which may take long.
func (s *Server) checkTLS() error {
	for _, st := range s.starters() {
		if !st.Allow {
			continue
		}
		if _, err := st.config(); err != nil {
			return err
		}
	}
	return nil
}

// config returns the TLS configuration, or nil without TLS.
func (st starter) config() (*tls.Config, error) {
	config, err := st.TLS.config(st.alpn...)
	if err != nil {
		return nil, startError(st.name, status.New(status.InvalidArg, "%w", err))
	}
	return config, nil
}

// open starts all services; their ports are open when it returns.
func (s *Server) open() ([]frontend, error) {
	var frontends []frontend
	for _, st := range s.starters() {
		if !st.Allow {
			continue
		}
		f, err := s.start(st)
		if err != nil {
			done, cancel := context.WithCancel(context.Background())
			cancel()
			for _, f := range frontends {
				f.drain(done)
				f.close(done)
			}
			return nil, err
		}
		frontends = append(frontends, f)
	}
	return frontends, nil
}

func (s *Server) start(st starter) (frontend, error) {
	config, err := st.config()
	if err != nil {
		return nil, err
	}
	l, err := listen(st.Endpoint, st.name)
	if err != nil {
		return nil, err
	}
	f, err := st.newFrontend(l, config)
	if err != nil {
		_ = l.Close()
		return nil, startError(st.name, err)
	}
	s.opts.Log.Info("Started " + st.logName + " at " + l.Addr().String())
	return f, nil
}

// startError returns Triton's error for a service that cannot start.
func startError(name string, err error) error {
	return fmt.Errorf("failed to start %s service: %w", name, consoleError{status.From(err)})
}

// httpFrontend serves HTTP.
type httpFrontend struct {
	title  string
	server *http1.Server
	lis    net.Listener
	// counted is the noun of its connections in the message of a drain; empty: they are not
	// counted.
	connectionNoun string
}

func (s *Server) newHTTP(l net.Listener, config *tls.Config) (frontend, error) {
	s.addrs.HTTP = l.Addr().String()
	return &httpFrontend{
		title: "HTTP", connectionNoun: "HTTP service connections",
		server: http1.NewServer(httpapi.New(s.models, s.httpOptions()), s.connectionOptions()),
		lis:    withTLS(&drainingListener{Listener: l}, config),
	}, nil
}

func (s *Server) connectionOptions() http1.Options {
	o := &s.opts.HTTP
	return http1.Options{Log: s.opts.Log, Linger: o.Linger, MinRate: o.MinRate, MaxConnections: o.MaxConnections}
}

// httpOptions returns the options of the KServe API for every frontend.
func (s *Server) httpOptions() httpapi.Options {
	o := &s.opts.HTTP
	return httpapi.Options{
		Pool: s.pool, Log: s.opts.Log, MaxInput: o.MaxInput,
		MaxUnread: int(s.opts.StreamBacklog),
		Regions:   s.regions, Tracer: s.tracer, Logs: s.opts.Logs, Access: s.opts.Access, Metrics: s.registry,
		Restricted: o.Restricted, Forward: o.Forward, Origins: o.Origins,
	}
}

// withTLS returns a listener with TLS, or l itself if config is nil.
func withTLS(l net.Listener, config *tls.Config) net.Listener {
	if config == nil {
		return l
	}
	return tls.NewListener(l, config)
}

func (f *httpFrontend) name() string { return f.title }

func (f *httpFrontend) serve() error { return ignoreClosed(f.server.Serve(f.lis)) }

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (f *httpFrontend) drain(ctx context.Context) { _ = f.server.Drain(ctx) }

func (f *httpFrontend) close(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

// shutdown waits for the requests of a server until ctx ends, then cuts them off.
func shutdown(ctx context.Context, s *http1.Server, l net.Listener) {
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
	_ = l.Close() // a server that was never started has not closed it
	_ = l.Close() // the first Close of a drainingListener only starts to drain it
}

func (f *httpFrontend) waiting() (int64, string) {
	if f.connectionNoun == "" {
		return 0, ""
	}
	return f.server.Connections(), f.connectionNoun
}

// grpcFrontend serves gRPC.
type grpcFrontend struct {
	server *grpc.Server
	lis    *countingListener
	// accepting is closed when no more connections are accepted.
	accepting chan struct{}
	serving   atomic.Bool
}

func (s *Server) newGRPC(l net.Listener, config *tls.Config) (frontend, error) {
	s.addrs.GRPC = l.Addr().String()
	limits := s.opts.GRPC.Limits
	limits.Pool, limits.Log, limits.Access = s.pool, s.opts.Log, s.opts.Access
	limits.Regions, limits.Tracer, limits.Logs = s.regions, s.tracer, s.opts.Logs
	if limits.MaxReceiveAll == 0 {
		limits.MaxReceiveAll = cmp.Or(memoryLimit(rootFS())/2, 16<<30)
	}
	limits.MaxUnread = int(s.opts.StreamBacklog)
	if config != nil {
		limits.Credentials = credentials.NewTLS(config)
	}
	f := &grpcFrontend{
		lis: &countingListener{Listener: &drainingListener{Listener: l}}, accepting: make(chan struct{}),
		server: grpc.NewServer(grpcapi.ServerOptions(limits)...),
	}
	grpcapi.Register(f.server, s.models, limits)
	return f, nil
}

func (f *grpcFrontend) name() string { return "GRPC" }

func (f *grpcFrontend) serve() error {
	defer close(f.accepting)
	f.serving.Store(true)
	err := f.server.Serve(f.lis)
	if errors.Is(err, net.ErrClosed) || errors.Is(err, grpc.ErrServerStopped) {
		return nil
	}
	return err
}

// drain first accepts the connections that clients have opened already, then sends GOAWAY to
// all clients, which asks them to use another server. Calls that a client sends before it
// receives GOAWAY are answered. A connection closes after its last call.
func (f *grpcFrontend) drain(ctx context.Context) {
	_ = f.lis.Close()
	if f.serving.Load() {
		select {
		case <-f.accepting:
		case <-ctx.Done():
		}
	}
	f.lis.handshakes.finish(ctx, handshakeGrace)
	done := make(chan struct{})
	go func() {
		f.server.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		f.lis.handshakes.finish(ctx, 0)
		f.server.Stop()
		<-done
	}
	_ = f.lis.Close() // the first Close of a drainingListener only starts to drain it
}

// close does nothing: drain has closed each connection after its last call.
func (f *grpcFrontend) close(context.Context) {}

func (f *grpcFrontend) waiting() (int64, string) {
	return f.lis.open.Load(), "gRPC service connections and inference handlers"
}
