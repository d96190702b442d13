package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/scheduler"
)

// TestOrderTells stamps a response that waited for others when it is sent, not when it was
// ready.
func TestOrderTells(t *testing.T) {
	t.Parallel()
	var order scheduler.Order
	first, second := infer.NewUnpooled(), infer.NewUnpooled() // they are read after their end
	for _, r := range []*infer.Request{first, second} {
		r.Unary()
		order.Enter(r)
	}
	second.Respond(infer.NewResponse(), true)
	before := infer.Now()
	first.Respond(infer.NewResponse(), true)
	for _, r := range []*infer.Request{first, second} {
		resp, err := r.Wait(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, r.Times.Answered, before)
		resp.Release()
		r.Release()
		r.Release()
	}
	require.GreaterOrEqual(t, second.Times.Answered, first.Times.Answered)
}
