package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
)

// breaking is a sink that notes what comes, and whose first call panics.
type breaking struct {
	sound bool
	got   []string
	first func() // before the panic
}

func (s *breaking) Send(resp *infer.Response, final bool) {
	if !s.sound {
		s.sound = true
		if s.first != nil {
			s.first()
		}
		panic("a fault of the sink")
	}
	text := "end"
	if resp != nil {
		text = "response"
		if resp.Err != nil {
			text = resp.Err.Error()
		}
		resp.Release()
	}
	if final {
		text += " final"
	}
	s.got = append(s.got, text)
}

// TestASinkInAnOrderPanics: the panic of a sink is that request's end. Requests
// behind it get their answers, and what its backend sends later is released.
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
	first, broken, last := &breaking{sound: true}, &breaking{}, &breaking{sound: true}
	a, b, c := enter(first), enter(broken), enter(last)
	broken.first = func() { b.Respond(response(), false) } // it comes while the panic is on its way

	c.Respond(response(), true)
	b.Respond(response(), false)
	b.Respond(response(), false)
	require.Empty(t, last.got)
	a.Respond(response(), true)
	require.Equal(t, []string{"response final"}, first.got)
	require.Equal(t, []string{"internal error while the response was written; the server's log has the details final"}, broken.got)
	require.Equal(t, []string{"response final"}, last.got)
	require.True(t, b.Cancelled(), "its backend may stop")
	require.False(t, a.Cancelled())

	b.Respond(response(), false)
	b.Respond(response(), true)
	require.Len(t, broken.got, 1, "it had its end")
	for _, r := range []*infer.Request{a, b, c} {
		r.Release()
		require.NotPanics(t, r.Release)
		require.Panics(t, r.Release, "the order has given its reference back")
	}
	require.Zero(t, pool.Outstanding())

	again := &breaking{sound: true}
	d := enter(again)
	d.Respond(response(), true)
	require.Equal(t, []string{"response final"}, again.got)
	d.Release()
	d.Release()
}
