package infer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

type faultyOwner struct{ first int }

func (*faultyOwner) Kept(*Request) {}
func (o *faultyOwner) Responded(_ *Request, d Delivery) {
	if d.Index == 0 {
		o.first++
	}
}
func (*faultyOwner) Completed(*Request, error) {}
func (o *faultyOwner) Finished(r *Request)     { r.Release() }

type faultySink struct{ panics, got int }

func (s *faultySink) Send(resp *Response, final bool) {
	if s.panics > 0 {
		s.panics--
		panic("sink")
	}
	s.got++
	if resp != nil {
		resp.Release()
	}
}

func TestSuspendedRequestLeavesNoTrace(t *testing.T) {
	t.Parallel()
	o := &faultyOwner{}
	r := NewUnpooled()
	r.Sink = &faultySink{}
	r.Lend(o, true)
	r.Respond(NewResponse(), false)
	r.Returned()
	r.Suspend()
	r.Fail(errInternal) // by a queue that is aborted
	r.Release()
	r.Release()
	require.Equal(t, loan{}, r.reply.loan)
}

func TestRegionsAtAnEndWithoutData(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r := NewUnpooled()
	at := int64(-1)
	r.Sink = faultyFunc(func(resp *Response, final bool) {
		if resp != nil {
			resp.Release()
		}
		if final {
			at = pool.Outstanding()
		}
	})
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT", Into: tensor.Segment{Buffer: pool.Get(64), N: 64}})
	r.Lend(&faultyOwner{}, true)
	r.Respond(NewResponse(), false)
	r.Respond(nil, true)
	require.Zero(t, at)
}

type faultyFunc func(resp *Response, final bool)

func (f faultyFunc) Send(resp *Response, final bool) { f(resp, final) }

func TestStrayAnswersOfARevokedDecoupledRequest(t *testing.T) {
	t.Parallel()
	o := &faultyOwner{}
	r := NewUnpooled()
	r.Sink = &faultySink{}
	r.Lend(o, true) // and a backend starts a goroutine, then its call panics
	r.Revoke(errInternal)
	if r.Returned() {
		o.Finished(r)
	}
	r.Release() // core
	r.Release() // frontend: r may be another request now
	next := &faultySink{}
	r.init()
	r.Sink = next
	r.Respond(NewResponse(), true) // the stray goroutine
	require.Zero(t, next.got)
}

type faultyObserver struct{}

func (faultyObserver) Observe(*Request, *Response, bool) { panic("observer") }

// a response observer that panics on a response that is not final ends the request
func TestAFaultyObserverEndsAStream(t *testing.T) {
	t.Parallel()
	o := &faultyOwner{}
	r := NewUnpooled()
	r.Sink, r.Observer = &faultySink{}, faultyObserver{}
	r.Lend(o, true)
	r.Respond(NewResponse(), false)
	require.Equal(t, Answered, r.State())
	require.NotZero(t, r.Times.Answered)
}

func TestAFaultIsNoExtraResponse(t *testing.T) {
	t.Parallel()
	r := NewUnpooled()
	r.Sink, r.Observer = &faultySink{}, faultyObserver{}
	r.Lend(&faultyOwner{}, false)
	r.Respond(NewResponse(), false)
	r.Respond(NewResponse(), true)
	require.False(t, r.RespondedAfterFinal())
}

func TestARegionIsLentUntilItsResponse(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	r := NewUnpooled()
	r.Sink = &faultySink{}
	r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: "OUT", Into: tensor.Segment{Buffer: pool.Get(64), N: 64}})
	r.Lend(&faultyOwner{}, true)
	out := Output{Name: "OUT", DataType: tensor.Uint8, Size: 64}
	second, ok := r.Region(out) // for the second response
	require.True(t, ok)
	r.Respond(NewResponse(), false) // the first, which has no such output
	third, ok := r.Region(out)
	require.False(t, ok && third.Overlaps(second), "one region for two responses")
}

type faultyCounting struct {
	faultyOwner
	completed int
}

func (c *faultyCounting) Completed(*Request, error) { c.completed++ }

func TestALateRequestIsCounted(t *testing.T) {
	t.Parallel()
	o := &faultyCounting{}
	r := NewUnpooled()
	r.Sink = &faultySink{panics: 1}
	r.Lend(o, false)
	r.Keep()
	r.MarkIfLate()
	r.Deliver()
	r.Respond(NewResponse(), false) // the sink panics: this is the end
	r.Respond(NewResponse(), true)
	require.Equal(t, Answered, r.State())
	require.Equal(t, 1, o.completed)
}

// a stream that was ended by a fault is cancelled for its backend
func TestAFaultCancels(t *testing.T) {
	t.Parallel()
	r := NewUnpooled()
	r.Sink = &faultySink{panics: 1}
	r.Lend(&faultyOwner{}, true)
	r.Respond(NewResponse(), false)
	require.Equal(t, Answered, r.State())
	require.True(t, r.Cancelled())
}

type faultyDeliveries struct {
	faultyOwner
	all []Delivery
}

func (d *faultyDeliveries) Responded(_ *Request, delivery Delivery) { d.all = append(d.all, delivery) }

func TestAFaultIsFinal(t *testing.T) {
	t.Parallel()
	o := &faultyDeliveries{}
	r := NewUnpooled()
	r.Sink, r.Observer = &faultySink{}, faultyObserver{}
	r.Lend(o, true)
	r.Respond(NewResponse(), false)
	r.Respond(nil, true)
	require.True(t, o.all[len(o.all)-1].Final)
}

func TestAnAbortIsCounted(t *testing.T) {
	t.Parallel()
	o := &faultyDeliveries{}
	r := NewUnpooled()
	r.Sink = &faultySink{}
	r.Lend(o, true)
	r.Abort(errInternal)
	require.Len(t, o.all, 1)
}
