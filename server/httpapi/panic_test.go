package httpapi_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
)

// TestPanicReleases: a request whose model panics keeps no memory, and the next one is answered.
// The harness checks at the end that all memory came back.
func TestPanicReleases(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		var healed atomic.Bool
		svc.infer = func(context.Context, *infer.Request) (*infer.Response, error) {
			if !healed.Load() {
				panic("lost")
			}
			return infer.NewResponse(), nil
		}
		addr := start(t, svc, httpapi.Options{})
		body := one(good)
		for _, head := range []string{"Content-Length: %d\r\n\r\n%s", "Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n"} {
			require.Empty(t, dial(t, addr, "POST "+inferPath+" HTTP/1.1\r\nHost: x\r\n"+fmt.Sprintf(head, len(body), body), false))
		}
		healed.Store(true)
		code, text := post(t, addr, inferPath, body)
		require.Equal(t, 200, code, text)
	})
}
