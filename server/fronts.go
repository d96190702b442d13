package server

import (
	"context"
	"errors"
	"net"
	"net/http"

	"google.golang.org/grpc"

	"triton/server/grpcapi"
	"triton/server/httpapi"
)

// front is one service that listens.
type front interface {
	name() string
	// serve blocks until drain.
	serve() error
	// drain takes no new requests and waits for those in flight, until ctx ends.
	drain(ctx context.Context)
	// waiting is what a drain waits for.
	waiting() (n int64, what string)
}

// open makes the services in the order in which Triton starts them. The ports
// are open afterwards.
func (s *Server) open() ([]front, error) {
	var fronts []front
	start := func(e Endpoint, name, started string, make func(net.Listener) front) error {
		if !e.Allow {
			return nil
		}
		l, err := listen(e, name)
		if err != nil {
			return err
		}
		s.opts.Log.Info("Started " + started + " at " + l.Addr().String())
		fronts = append(fronts, make(l))
		return nil
	}
	err := start(s.opts.GRPC.Endpoint, "GRPC", "GRPCInferenceService", s.newGRPC)
	if err == nil {
		err = start(s.opts.HTTP.Endpoint, "HTTP", "HTTPService", s.newHTTP)
	}
	if err == nil {
		err = start(s.opts.Metrics.Endpoint, "Metrics", "Metrics Service", s.newMetrics)
	}
	if err != nil {
		done, cancel := context.WithCancel(context.Background())
		cancel()
		for _, f := range fronts {
			f.drain(done)
		}
		return nil, err
	}
	return fronts, nil
}

// httpFront serves HTTP.
type httpFront struct {
	server *httpapi.Server
	lis    net.Listener
}

func (s *Server) newHTTP(l net.Listener) front {
	s.addrs.HTTP = l.Addr().String()
	return &httpFront{
		server: httpapi.NewServer(s.models, httpapi.Options{
			Pool: s.pool, Log: s.opts.Log, MaxInput: s.opts.HTTP.MaxInput, Linger: s.opts.HTTP.Linger,
		}),
		lis: &lastCall{Listener: l},
	}
}

func (f *httpFront) name() string { return "HTTP" }

func (f *httpFront) serve() error { return served(f.server.Serve(f.lis)) }

func served(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

func (f *httpFront) drain(ctx context.Context) { shutdown(ctx, f.server, f.lis) }

// shutdown lets a server finish its requests; what ctx does not leave time for
// is cut off.
func shutdown(ctx context.Context, s stopper, l net.Listener) {
	if s.Shutdown(ctx) != nil {
		_ = s.Close()
	}
	if last, ok := l.(*lastCall); ok {
		l = last.Listener
	}
	_ = l.Close() // for a server that was never started
}

// stopper is how HTTP servers end.
type stopper interface {
	Shutdown(context.Context) error
	Close() error
}

func (f *httpFront) waiting() (int64, string) {
	return f.server.Connections(), "HTTP service connections"
}

// grpcFront serves gRPC.
type grpcFront struct {
	server *grpc.Server
	lis    *countingListener
}

func (s *Server) newGRPC(l net.Listener) front {
	s.addrs.GRPC = l.Addr().String()
	limits := s.opts.GRPC.Limits
	limits.Pool, limits.Log = s.pool, s.opts.Log
	f := &grpcFront{lis: &countingListener{Listener: l}, server: grpc.NewServer(grpcapi.ServerOptions(limits)...)}
	grpcapi.Register(f.server, s.models, limits)
	return f
}

func (f *grpcFront) name() string { return "GRPC" }

func (f *grpcFront) serve() error { return f.server.Serve(f.lis) }

func (f *grpcFront) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		f.server.GracefulStop()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		f.server.Stop()
		<-done
	}
	_ = f.lis.Close()
}

func (f *grpcFront) waiting() (int64, string) {
	return f.lis.open.Load(), "gRPC service connections and inference handlers"
}
