package grpcapi_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	grpcstatus "google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/server/grpcapi"
	"triton/server/memory"
)

// Large contents of many calls on one connection arrive at the same time, with and without TLS: each in
// memory of its own, and unchanged.
func TestLargeContentsOfManyCalls(t *testing.T) {
	t.Parallel()
	own := certificate(t, nil)
	roots := x509.NewCertPool()
	roots.AddCert(own.Leaf)
	for name, c := range map[string]struct {
		server, client credentials.TransportCredentials
	}{
		"plain": {nil, insecure.NewCredentials()},
		"TLS": {
			credentials.NewTLS(&tls.Config{Certificates: []tls.Certificate{*own}, MinVersion: tls.VersionTLS12}),
			credentials.NewTLS(&tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const calls, rounds = 8, 2
			core := newTaker()
			address := serveCoreTCP(t, core, core.stub.pool, func(o *grpcapi.Options) { o.Credentials = c.server })
			conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(c.client), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
			require.NoError(t, err)
			defer conn.Close()
			client := inferencepb.NewGRPCInferenceServiceClient(conn)
			var all sync.WaitGroup
			for i := range calls {
				all.Go(func() {
					for round := range rounds {
						r := bytesRequest("echo", 3<<20+i)
						r.RawInputContents[0][round] = byte(i) // no two are the same
						resp, err := client.ModelInfer(t.Context(), r)
						if err != nil || !bytes.Equal(r.RawInputContents[0], resp.RawOutputContents[0]) {
							t.Errorf("call %d of %d: error %v, or another answer", round, i, err)
						}
					}
				})
			}
			all.Wait()
			require.EqualValues(t, calls*rounds, core.owned.Load())
			requireEmpty(t, core.pool)
		})
	}
}

// The limit of a server is for contents in the memory of models too: a message over it is refused, and what
// it took is free for the next.
func TestLargeContentsWithinTheLimitOfTheServer(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: compresses or copies much")
	}
	core := newTaker()
	conn := serve(t, core, core.stub, func(o *grpcapi.Options) { o.Memory = memory.New(6 << 20) }, grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(1<<30)))
	client := inferencepb.NewGRPCInferenceServiceClient(conn)
	for range 3 {
		_, err := client.ModelInfer(t.Context(), bytesRequest("echo", 16<<20))
		require.Equal(t, codes.ResourceExhausted, grpcstatus.Code(err))
		require.ErrorContains(t, err, "--request-memory-budget")
		_, err = client.ModelInfer(t.Context(), bytesRequest("echo", 3<<20))
		require.NoError(t, err)
	}
	requireEmpty(t, core.pool)
}
