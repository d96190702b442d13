package http1_test

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/http1"
)

// TestPanic: a panic of the handler ends only its connection and is logged with its stack.
func TestPanic(t *testing.T) {
	both(t, func(t *testing.T, start serving) {
		svc := newStub()
		var healed atomic.Bool
		svc.handle = func(*http1.Exchange) {
			if !healed.Load() {
				panic("lost")
			}
		}
		var out guarded
		addr := start(t, svc, http1.Options{Log: slog.New(slog.NewTextHandler(&out, nil))})
		for _, framed := range framings(payload) {
			reply := dial(t, addr, "POST "+readPath+" HTTP/1.1\r\nHost: x\r\n"+framed, false)
			require.Empty(t, reply)
		}
		healed.Store(true)
		code, text := post(t, addr, readPath, payload)
		require.Equal(t, 200, code, text)
		require.Equal(t, 2, strings.Count(out.text(), `level=ERROR msg="panic while serving HTTP" panic=lost stack=`))
		require.Contains(t, out.text(), "panic_test.go")
	})
}
