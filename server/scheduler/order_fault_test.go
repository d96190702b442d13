package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/scheduler"
)

// TestASinkInAnOrderPanics: a panic of a sink ends its request. Later requests get their responses,
// and later responses of the request are released.
func TestASinkInAnOrderPanics(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	response := func() *infer.Response {
		resp := infer.NewResponse()
		resp.Add("OUT", tensor.Uint8, tensor.Shape{1}, tensor.NewData(pool.Get(1)))
		return resp
	}
	var order scheduler.Order
	enter := func(sink infer.Sink) *infer.Request {
		r := infer.NewUnpooled()
		r.Sink = sink
		order.Enter(r)
		return r
	}
	first, broken, last := infertest.NewSink(), infertest.NewSink(), infertest.NewSink()
	broken.Panics = 1
	a, b, c := enter(first), enter(broken), enter(last)
	broken.Before = func() { // it comes while the panic is on its way
		broken.Before = nil
		b.Respond(response(), false)
	}

	c.Respond(response(), true)
	b.Respond(response(), false)
	b.Respond(response(), false)
	require.Empty(t, last.Texts())
	a.Respond(response(), true)
	require.Equal(t, []string{"response final"}, first.Texts())
	require.Equal(t, []string{"internal error while the response was written; the server's log has the details final"}, broken.Texts())
	require.Equal(t, []string{"response final"}, last.Texts())
	require.True(t, b.Cancelled(), "its backend may stop")
	require.False(t, a.Cancelled())

	b.Respond(response(), false)
	b.Respond(response(), true)
	require.Len(t, broken.Texts(), 1, "it had its end")
	for _, r := range []*infer.Request{a, b, c} {
		r.Release()
		require.NotPanics(t, r.Release)
		require.Panics(t, r.Release, "the order has given its reference back")
	}
	require.Zero(t, pool.Outstanding())

	again := infertest.NewSink()
	d := enter(again)
	d.Respond(response(), true)
	require.Equal(t, []string{"response final"}, again.Texts())
	d.Release()
	d.Release()
}
