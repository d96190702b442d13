package servertest

import (
	"os"

	"triton/server"
	"triton/server/grpcapi"
)

// transport is the transport on which tests serve gRPC: empty for the default, or one-port for the port of HTTP.
var transport = os.Getenv("TRITON_TEST_GRPC_TRANSPORT") //nolint:forbidigo // the lane of a test run

// GRPCTransport returns the transport on which tests serve gRPC: the one that TRITON_TEST_GRPC_TRANSPORT names, or the
// default.
func GRPCTransport() grpcapi.Transport {
	switch transport {
	case grpcapi.TransportGRPC.String():
		return grpcapi.TransportGRPC
	case grpcapi.TransportBuiltin.String(), "one-port":
		return grpcapi.TransportBuiltin
	}
	return server.Default().GRPC.Frontend.Transport
}

// OnePort reports whether TRITON_TEST_GRPC_TRANSPORT is one-port: tests serve gRPC at the port of HTTP, where they may.
func OnePort() bool { return transport == "one-port" }
