package grpctest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// TestOracleFindsFaults plays scripts on servers with one fault each, as a transport of ours could have it: the
// comparison finds it after few scripts.
func TestOracleFindsFaults(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]grpc.ServerOption{
		"fewer streams":         grpc.MaxConcurrentStreams(1),
		"shorter headers":       grpc.MaxHeaderListSize(2 << 10),
		"smaller messages":      grpc.MaxRecvMsgSize(10_000),
		"metadata of an answer": grpc.StreamInterceptor(unwanted),
		"a lost status":         grpc.StreamInterceptor(forgetful),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := false
			for seed := uint64(0); seed < 2000 && !found; seed++ {
				data := scriptBytes(seed)
				found = !allowed(play(t, transports[0].make, newScript(data)), play(t, func() transport {
					return grpc.NewServer(append(oracleOptions(), fault)...)
				}, newScript(data)))
			}
			require.True(t, found)
		})
	}
}

func unwanted(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := s.SetHeader(metadata.Pairs("more", "1")); err != nil {
		return err
	}
	return handler(srv, s)
}

func forgetful(srv any, s grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	_ = handler(srv, s)
	return nil
}
