package httpapi_test

import (
	"context"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/tensor"
	"triton/server/httpapi"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start serves svc on a loopback port until the test ends and then checks that
// all memory came back.
func start(t testing.TB, svc *stub, o httpapi.Options) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	o.Pool = svc.pool
	s := &http.Server{Handler: httpapi.New(svc, o)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		require.NoError(t, s.Shutdown(context.Background()))
		<-done
		http.DefaultClient.CloseIdleConnections()
		require.Zero(t, svc.pool.Outstanding())
	})
	return l.Addr().String()
}

func newService() *stub { return newStub(tensor.NewPool()) }
