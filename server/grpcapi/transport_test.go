package grpcapi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
)

// A version of gRPC whose streams have other methods is refused when the server starts.
func TestCheckTransport(t *testing.T) {
	t.Parallel()
	require.NoError(t, CheckTransport())
	calls := 0
	require.ErrorContains(t, checkTransport(func(s grpc.ServerTransportStream) bool {
		calls++
		require.Equal(t, "/service/method", s.Method())
		return false
	}), "version of gRPC")
	require.Equal(t, 1, calls)
}
