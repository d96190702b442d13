package grpcapi_test

import (
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/reflection"

	"triton/server/grpcapi"
	"triton/server/infer"
	"triton/server/servertest"
)

// transport is a server of gRPC calls.
type transport interface {
	reflection.GRPCServer
	Serve(lis net.Listener) error
	GracefulStop()
	Stop()
}

// newServer returns a server of the core, on the transport of the test.
func newServer(_ testing.TB, core infer.Service, opts grpcapi.Options) transport {
	srv := grpc.NewServer(grpcapi.ServerOptions(opts)...)
	grpcapi.Register(srv, core, opts)
	return srv
}

// startServer starts a whole server, on the transport of the test.
func startServer(t testing.TB, opts ...servertest.Option) *servertest.Server {
	t.Helper()
	return servertest.Start(t, opts...)
}
