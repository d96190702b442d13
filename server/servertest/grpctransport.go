package servertest

import (
	"os"

	"triton/server/grpcapi"
)

// GRPCTransport returns the transport on which tests serve gRPC: the built-in one if TRITON_TEST_GRPC_TRANSPORT is
// builtin.
func GRPCTransport() grpcapi.Transport {
	if os.Getenv("TRITON_TEST_GRPC_TRANSPORT") == "builtin" { //nolint:forbidigo // the lane of a test run
		return grpcapi.TransportBuiltin
	}
	return grpcapi.TransportGRPC
}
