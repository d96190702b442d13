//go:build !race

package python

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend/child"
)

// A request's frame is written, and a response read, without an allocation.
func TestFramesDoNotAllocate(t *testing.T) { //nolint:paralleltest // AllocsPerRun
	h := newHarness(t, identity)
	require.NoError(t, h.load())
	in := h.instance.(*instance)
	r := h.request(tensor.FP32, tensor.Shape{256}, floats(256))
	defer r.Release()
	var m child.Message
	require.Zero(t, testing.AllocsPerRun(200, func() {
		if in.put(m.Begin(frameExecute), r) != nil {
			panic("not written")
		}
	}))
	body := resultBody(t, floats(256))
	require.LessOrEqual(t, testing.AllocsPerRun(200, func() {
		res := in.result(child.NewReader(body))
		res.release()
	}), 0.5) // a collection may empty the pools
}
