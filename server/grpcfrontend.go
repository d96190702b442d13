package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"triton/server/grpcapi"
)

// grpcFrontend serves gRPC.
type grpcFrontend struct {
	server grpcapi.Server
	lis    *countingListener
	// accepting is closed when no more connections are accepted.
	accepting chan struct{}
	serving   atomic.Bool
}

func (s *Server) newGRPC(l net.Listener, config *tls.Config) (portServer, error) {
	var tls credentials.TransportCredentials
	if config != nil {
		tls = credentials.NewTLS(config)
	}
	return s.newGRPCFrontend(&drainingListener{Listener: l}, tls, nil)
}

// newGRPCFrontend makes the frontend on a listener. Requests that are no calls of gRPC go to other; nil: they are
// refused.
func (s *Server) newGRPCFrontend(l net.Listener, c credentials.TransportCredentials, other http.Handler) (*grpcFrontend, error) {
	if err := grpcapi.CheckTransport(); err != nil {
		return nil, err
	}
	s.addrs.GRPC = l.Addr().String()
	o := s.opts.GRPC.Frontend
	o.Pool, o.Log, o.AccessLog = s.pool, s.opts.Log, s.opts.AccessLog
	o.Regions, o.Tracer, o.Logs = s.regions, s.tracer, s.opts.Logs
	o.Guard, o.RefuseControl = s.guard, s.opts.Control.Allow
	o.Memory = s.requestMemory.budget
	o.MaxUnread = int(s.opts.StreamBacklog)
	o.Credentials, o.HTTP = c, other
	f := &grpcFrontend{
		lis: &countingListener{Listener: l, limit: s.connections}, accepting: make(chan struct{}),
		server: grpcapi.NewServer(o),
	}
	grpcapi.Register(f.server, s.service, o)
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
