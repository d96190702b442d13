package httpapi_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/httpapi"
	"triton/server/infer"
)

// TestPanic: a panic ends its connection alone, and the log says where it was.
func TestPanic(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newService()
		var healed atomic.Bool
		svc.infer = func(context.Context, *infer.Request) (*infer.Response, error) {
			if !healed.Load() {
				panic("lost")
			}
			return infer.NewResponse(), nil
		}
		var out guarded
		addr := start(t, svc, httpapi.Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
		for _, framed := range framings(one(good)) {
			reply := dial(t, addr, "POST "+inferPath+" HTTP/1.1\r\nHost: x\r\n"+framed, false)
			require.Empty(t, reply)
		}
		healed.Store(true)
		code, text := post(t, addr, inferPath, one(good))
		require.Equal(t, 200, code, text)
		require.Equal(t, 2, strings.Count(out.text(), `level=ERROR msg="panic while serving HTTP" panic=lost stack=`))
		require.Contains(t, out.text(), "panic_test.go")
	})
}
