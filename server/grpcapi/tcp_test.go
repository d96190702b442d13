package grpcapi_test

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"triton/pkg/kserve/rpc"
	"triton/pkg/tensor"
	"triton/server/grpcapi"
	"triton/server/infer"
)

// streamHeaders begin a ModelStreamInfer.
func streamHeaders(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	e := hpack.NewEncoder(&b)
	for _, h := range [][2]string{
		{":method", "POST"},
		{":scheme", "http"},
		{":path", rpc.ModelStreamInfer},
		{":authority", "x"},
		{"content-type", "application/grpc"},
		{"te", "trailers"},
	} {
		require.NoError(t, e.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}))
	}
	return b.Bytes()
}

// serveTCP serves a stub on loopback.
func serveTCP(t *testing.T, s *stub, change ...func(*grpcapi.Options)) string {
	t.Helper()
	return serveCoreTCP(t, s, s.pool, change...)
}

// serveCoreTCP serves a core on loopback.
func serveCoreTCP(t *testing.T, core infer.Service, pool *tensor.Pool, change ...func(*grpcapi.Options)) string {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	opts := grpcapi.Default(pool)
	for _, f := range change {
		f(&opts)
	}
	srv := newServer(t, core, opts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(lis)
	}()
	t.Cleanup(func() {
		srv.Stop()
		<-done
	})
	return lis.Addr().String()
}

func dialTCP(t *testing.T, addr string, dial ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(addr, append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}
