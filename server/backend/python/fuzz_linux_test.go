package python

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/child"
	"triton/server/infer"
)

// FuzzEvents handles a frame that a child may send by itself: nothing panics, and all
// memory is given back.
func FuzzEvents(f *testing.F) {
	var m child.Message
	seed := func(kind uint8, build func()) {
		m.Begin(kind)
		build()
		f.Add(kind, slices.Clone(m.Body()))
	}
	seed(frameLog, func() { m.Uint8(1); m.Uint32(7); m.String("model.py"); m.String("text") })
	seed(frameSend, func() {
		m.Uint64(1)
		m.Uint8(1)
		m.Uint8(1)
		m.Uint8(resultError)
		m.Uint8(5)
		m.String("no")
	})
	tensors := func() {
		m.Uint32(1)
		m.String("OUT")
		m.Uint8(uint8(tensor.FP32))
		m.Uint8(1)
		m.Uint64(1)
		m.Uint32(1)
		m.Uint64(0)
		m.Uint64(4)
	}
	seed(frameSend, func() {
		m.Uint64(1)
		m.Uint8(0)
		m.Uint8(1)
		m.Uint8(resultResponse)
		m.Uint32(0)
		tensors()
	})
	seed(frameRelease, func() { m.Uint32(1); m.Uint32(1); m.Uint32(1); m.Uint64(1) })
	seed(frameReserve, func() { m.Uint32(3); m.Uint64(1 << 62) })
	seed(frameIsCancelled, func() { m.Uint32(3); m.Uint64(1) })
	seed(frameCall, func() {
		m.Uint32(3)
		m.Uint8(0)
		m.String("echo")
		m.Uint64(1)
		m.Uint64(0)
		m.String("id")
		m.Uint8(0)
		m.Uint64(1)
		m.String("")
		m.Uint32(3)
		m.Uint64(0)
		m.String(`{"a":1}`)
		m.Uint32(0)
		tensors()
	})
	seed(frameCancelCall, func() { m.Uint32(3) })
	seed(frameMetric, func() { m.Uint32(3); m.Uint8(metricFamily); m.String("f"); m.String("help"); m.Uint8(2) })
	seed(frameControl, func() { m.Uint32(3); m.Raw([]byte(`{"do":"ready","model":"m"}`)) })

	p, err := child.Start(child.Spec{Path: "/bin/sleep", Args: []string{"3600"}})
	require.NoError(f, err)
	f.Cleanup(func() { p.Kill(); p.Exit() })
	source, err := tensor.NewMemfd()
	require.NoError(f, err)
	memory, err := openMemory(tensor.NewPoolOf(tensor.PoolOptions{Source: source}))
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, kind uint8, body []byte) {
		model := &model{spec: backend.Spec{Name: "m", Pool: tensor.NewPool(), Metrics: backend.NewMetrics(nil), Log: slog.New(slog.DiscardHandler)}, memory: memory}
		echo := newCallee(func(*infer.Request) error { return backend.ErrBroken })
		model.models = callees{"echo": echo}
		e := newEvents(t.Context(), model, "m_0")
		number, _, _, err := e.block(1000)
		require.NoError(t, err)
		require.EqualValues(t, 1, number)
		_ = e.handle(p, child.Frame{Kind: kind, Body: body})
		e.end(backend.ErrBroken)
		e.free()
		e.releaseMetrics(&child.Exit{})
		require.Eventually(t, func() bool { e.free(); return memory.pool.Outstanding() == 0 }, waitFor, tick)
	})
}
