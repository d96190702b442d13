package python

import (
	"fmt"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// owner is the core's side of requests that the instance keeps.
type owner struct{ finished chan *infer.Request }

func (*owner) Kept(*infer.Request)                      {}
func (*owner) Responded(*infer.Request, infer.Delivery) {}
func (*owner) Completed(*infer.Request, error)          {}
func (o *owner) Finished(r *infer.Request)              { o.finished <- r }

// sink collects the responses of one request.
type sink struct{ all chan string }

func (s sink) Send(resp *infer.Response, final bool) {
	text := "none"
	if resp != nil {
		if text = fmt.Sprint(resp.Err); resp.Err == nil {
			text = fmt.Sprint(bytesOf(&resp.Outputs[0].Data)[0])
		}
		resp.Release()
	}
	if final {
		text += " final"
	}
	s.all <- text
}

// lent is a request as the core lends it to a backend.
type lent struct {
	*infer.Request
	owner *owner
	sink
}

// lend makes a request of a decoupled model, or of one with a single response.
func (h *harness) lend(id string) *lent {
	l := &lent{h.request(tensor.FP32, tensor.Shape{1}, floats(1)), &owner{make(chan *infer.Request, 1)}, sink{make(chan string, 1000)}}
	l.ID, l.Sink = id, l.sink
	return l
}

// batch executes requests as the core does, and returns when the instance is free.
func (h *harness) batch(all ...*lent) error {
	var b infer.Batch
	for _, l := range all {
		l.Lend(l.owner, h.spec.Config.Decoupled())
		b.Add(l.Request)
	}
	err := h.instance.Execute(h.t.Context(), &b)
	for _, l := range all {
		switch {
		case l.IsKept() && err != nil:
			l.Revoke(err)
		case l.IsKept():
			l.MarkIfLate()
		case l.State() != infer.Answered && err != nil:
			l.Fail(err)
		}
		if l.IsKept() {
			l.Deliver()
			if l.Returned() {
				l.owner.Finished(l.Request)
			}
			continue
		}
		l.Deliver()
		l.Release()
	}
	return err
}

// end waits until the instance is done with a request, and releases it.
func (l *lent) end() {
	if l.IsKept() {
		r := <-l.owner.finished
		r.Release()
		r.Release()
	}
	l.Release()
}

// responses returns the next n responses.
func (l *lent) responses(n int) (all []string) {
	for range n {
		all = append(all, <-l.all)
	}
	return all
}
