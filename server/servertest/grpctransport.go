package servertest

import (
	"os"

	"triton/server"
	"triton/server/grpcapi"
)

// GRPCTransport returns the transport on which tests serve gRPC: the one that TRITON_TEST_GRPC_TRANSPORT names, or the
// default.
func GRPCTransport() grpcapi.Transport {
	for _, t := range []grpcapi.Transport{grpcapi.TransportGRPC, grpcapi.TransportBuiltin} {
		if os.Getenv("TRITON_TEST_GRPC_TRANSPORT") == t.String() { //nolint:forbidigo // the lane of a test run
			return t
		}
	}
	return server.Default().GRPC.Frontend.Transport
}
