package grpctest_test

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"net"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"triton/server/http2"
)

// counter counts how often each request is answered.
type counter struct {
	answers []atomic.Int32
}

func (c *counter) desc() *grpc.ServiceDesc {
	return &grpc.ServiceDesc{
		ServiceName: "drain.Counter", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Count", Handler: func(_ any, _ context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			m := &wrapperspb.BytesValue{}
			if err := dec(m); err != nil {
				return nil, err
			}
			c.answers[binary.LittleEndian.Uint64(m.GetValue())].Add(1)
			return m, nil
		}}},
	}
}

// TestDrainCounts sends requests while servers are replaced: a new one serves, and then the old one drains. Every
// request is answered with its own data, and none is answered twice. A client repeats only what no server has begun.
func TestDrainCounts(t *testing.T) {
	t.Parallel()
	requests := uint64(100_000)
	if testing.Short() {
		requests = 5_000
	}
	for _, on := range transports {
		t.Run(on.name, func(t *testing.T) {
			t.Parallel()
			countThroughDrains(t, on.make, insecure.NewCredentials(), requests)
		})
	}
	server, client := certificates()
	for name, serve := range map[string]func() transport{
		"grpc-go, TLS": func() transport { return grpc.NewServer(append(oracleOptions(), grpc.Creds(server))...) },
		"builtin, TLS": func() transport {
			o := builtinOptions()
			o.Credentials = server
			return http2.NewServer(o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			countThroughDrains(t, serve, client, requests)
		})
	}
}

// certificates returns the credentials of a server and of its clients.
func certificates() (server, client credentials.TransportCredentials) {
	s := httptest.NewUnstartedServer(nil)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return credentials.NewServerTLSFromCert(&s.TLS.Certificates[0]), credentials.NewClientTLSFromCert(roots, "example.com")
}

func countThroughDrains(t *testing.T, serve func() transport, creds credentials.TransportCredentials, requests uint64) {
	const clients, connections, turns = 8, 4, 10
	c := counter{make([]atomic.Int32, requests)}
	var address atomic.Pointer[string]
	start := func() transport {
		srv := serve()
		srv.RegisterService(c.desc(), nil)
		at := serveOn(t, srv)
		address.Store(&at)
		return srv
	}
	srv := start()
	var next, answered atomic.Uint64
	due := make(chan struct{}, turns) // a turn after each part of the requests
	var sending sync.WaitGroup
	for range connections {
		conn, err := grpc.NewClient("passthrough:current", grpc.WithTransportCredentials(creds), grpc.WithDisableRetry(),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond},
				// Otherwise that is how long a connection may take, and one that is open a moment later is closed under its calls.
				MinConnectTimeout: 20 * time.Second,
			}),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "tcp", *address.Load())
			}))
		require.NoError(t, err)
		defer conn.Close()
		for range clients {
			sending.Go(func() {
				for n := next.Add(1) - 1; n < requests; n = next.Add(1) - 1 {
					data, got := binary.LittleEndian.AppendUint64(nil, n), &wrapperspb.BytesValue{}
					if err := conn.Invoke(t.Context(), "/drain.Counter/Count", wrapperspb.Bytes(data), got, grpc.WaitForReady(true)); err != nil {
						t.Errorf("request %d: %v", n, err)
					} else if string(got.GetValue()) != string(data) {
						t.Errorf("request %d got the answer %x", n, got.GetValue())
					}
					if answered.Add(1)%(requests/(turns+1)) == 0 {
						select {
						case due <- struct{}{}:
						default:
						}
					}
				}
			})
		}
	}
	for range turns {
		<-due
		old := srv
		srv = start()
		old.GracefulStop()
	}
	sending.Wait()
	for n := range c.answers {
		if k := c.answers[n].Load(); k != 1 {
			t.Errorf("request %d has %d answers", n, k)
		}
	}
}
