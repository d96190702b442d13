package http1_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server/http1"
	"triton/server/http1/http1test"
)

// TestPanic: a panic of the handler ends only its connection and is logged with its stack.
func TestPanic(t *testing.T) {
	http1test.Both(t, func(t *testing.T, start http1test.Serving) {
		svc := newStub()
		var healed atomic.Bool
		svc.handle = func(*http1.Exchange) {
			if !healed.Load() {
				panic("lost")
			}
		}
		var out sharedtest.LogBuffer
		addr := start(t, svc, http1.Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
		for _, framed := range framings(payload) {
			reply := dial(t, addr, "POST "+readPath+" HTTP/1.1\r\nHost: x\r\n"+framed, false)
			require.Empty(t, reply)
		}
		healed.Store(true)
		code, text := post(t, addr, readPath, payload)
		require.Equal(t, 200, code, text)
		require.Equal(t, 2, strings.Count(out.String(), `level=ERROR msg="panic while serving HTTP" panic=lost stack=`))
		require.Contains(t, out.String(), "panic_test.go")
	})
}
