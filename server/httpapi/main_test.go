package httpapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/tensor"
	"triton/server/http1"
	"triton/server/http1/http1test"
	"triton/server/httpapi"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newServer(svc infer.Service, o httpapi.Options) *http1.Server {
	return http1.NewServer(httpapi.New(svc, o), http1.Options{Log: o.Log})
}

// both runs a test over both transports.
func both(t *testing.T, test func(t *testing.T, serve serving)) {
	http1test.Both(t, func(t *testing.T, serve http1test.Serving) {
		test(t, func(t testing.TB, svc *stub, o httpapi.Options) string {
			o.Pool = svc.pool
			returned(t, svc)
			return serve(t, httpapi.New(svc, o), http1.Options{Log: o.Log})
		})
	})
}

// start serves on a loopback port until the test ends and then checks that all memory was
// released.
func start(t testing.TB, svc *stub, s *http1.Server) string {
	returned(t, svc)
	return http1test.Start(t, s)
}

// returned checks that all memory was released, after the cleanups that are registered later.
func returned(t testing.TB, svc *stub) {
	t.Cleanup(func() { require.Zero(t, svc.pool.Outstanding()) })
}

func newService() *stub { return newStub(tensor.NewPool()) }
