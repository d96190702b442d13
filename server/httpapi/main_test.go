package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/httpapi"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// transport is one of the two ways to serve the front end.
type transport interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

var transports = map[string]func(*stub, httpapi.Options) transport{
	"own": func(svc *stub, o httpapi.Options) transport { return newServer(svc, o) },
	"net/http": func(svc *stub, o httpapi.Options) transport {
		return &http.Server{Handler: http1.NewHTTPHandler(httpapi.New(svc, o), http1.Options{Log: o.Log})}
	},
}

func newServer(svc infer.Service, o httpapi.Options) *http1.Server {
	return http1.NewServer(httpapi.New(svc, o), http1.Options{Log: o.Log})
}

// both runs a test over both transports.
func both(t *testing.T, test func(t *testing.T, serve func(testing.TB, *stub, httpapi.Options) string)) {
	for name, make := range transports {
		t.Run(name, func(t *testing.T) {
			test(t, func(t testing.TB, svc *stub, o httpapi.Options) string {
				o.Pool = svc.pool
				return start(t, svc, make(svc, o))
			})
		})
	}
}

// start serves on a loopback port until the test ends and then checks that all
// memory came back.
func start(t testing.TB, svc *stub, s transport) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, s.Shutdown(ctx))
		<-done
		require.Zero(t, svc.pool.Outstanding())
	})
	return l.Addr().String()
}

func newService() *stub { return newStub(tensor.NewPool()) }
