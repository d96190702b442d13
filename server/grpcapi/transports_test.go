package grpcapi_test

import (
	"testing"

	"triton/server/grpcapi"
	"triton/server/infer"
	"triton/server/servertest"
)

// newServer returns a server of the core, on the transport of the test.
func newServer(_ testing.TB, core infer.Service, opts grpcapi.Options) grpcapi.Server {
	opts.Transport = servertest.GRPCTransport()
	srv := grpcapi.NewServer(opts)
	grpcapi.Register(srv, core, opts)
	return srv
}

// startServer starts a whole server, on the transport of the test.
func startServer(t testing.TB, opts ...servertest.Option) *servertest.Server {
	t.Helper()
	return servertest.Start(t, opts...)
}
