package grpctest_test

import (
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
	testpb "google.golang.org/grpc/interop/grpc_testing"
)

// TestInterop runs gRPC's own client of interoperability tests against each transport.
func TestInterop(t *testing.T) {
	t.Parallel()
	program := os.Getenv("TRITON_GRPC_INTEROP")
	if program == "" {
		t.Skip("TRITON_GRPC_INTEROP is the path of gRPC's client: make grpc-transports gets it")
	}
	for _, on := range transports {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			srv := on.make()
			testpb.RegisterTestServiceServer(srv, interopService{})
			host, port, err := net.SplitHostPort(serveOn(t, srv))
			require.NoError(t, err)
			for _, c := range []string{
				"empty_unary", "large_unary", "client_streaming", "server_streaming", "ping_pong", "empty_stream",
				"timeout_on_sleeping_server", "cancel_after_begin", "cancel_after_first_response", "status_code_and_message",
				"special_status_message", "custom_metadata", "unimplemented_method", "unimplemented_service",
			} {
				t.Run(c, func(t *testing.T) {
					out, err := exec.CommandContext(t.Context(), program, "-server_host", host, "-server_port", port, "-test_case", c).CombinedOutput()
					require.NoError(t, err, "%s", out)
				})
			}
		})
	}
}

// serveOn serves on loopback until the end of the test.
func serveOn(t testing.TB, srv transport) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = srv.Serve(lis)
	}()
	t.Cleanup(func() {
		srv.Stop()
		<-served
	})
	return lis.Addr().String()
}
