package ensemble

import (
	"context"
	"fmt"
	"runtime/debug"

	"triton/pkg/status"
	"triton/server/infer"
)

var errFault = status.New(status.Internal, "internal error while the ensemble was run; the server's log has the details")

// handleContained handles an event. A panic fails the flow's request and nothing
// else: the goroutine may be that of any model's instance.
func (f *flow) handleContained(ev event, caller bool) {
	f.ended = false
	defer func() {
		if p := recover(); p != nil {
			f.fault(p)
			f.recover(ev)
		}
	}()
	f.handle(ev, caller)
}

// recover fails the flow after a panic: it ends what the handling of an event has
// left open and cancels the steps in flight. The flow lasts until they have ended;
// when that may never be, because their cancelling panics too, its request has its
// answer before.
func (f *flow) recover(ev event) {
	f.ready, f.answers, f.over = f.ready[:0], f.answers[:0], false
	if f.err == nil {
		f.err = errFault
	}
	whole := true
	if ev.kind == responded && ev.final && !f.ended {
		whole = f.contained(func() { f.end(ev) })
	}
	if s := f.own; s != nil {
		f.own = nil
		whole = f.contained(func() { f.discard(s, f.err) }) && whole
	}
	for _, s := range f.steps {
		whole = f.contained(func() { f.cancel(s, f.err) }) && whole
	}
	if f.contained(f.conclude) && (whole || f.over) {
		return
	}
	f.over = len(f.steps) == 0
	f.contained(func() { f.fail(f.err) })
	f.request.Fail(errFault) // when nothing else has answered it
	f.request.Deliver()
}

// contained reports whether do returned.
func (f *flow) contained(do func()) (returned bool) {
	defer func() {
		if p := recover(); p != nil {
			f.fault(p)
		}
	}()
	do()
	return true
}

func (f *flow) fault(p any) {
	f.e.opts.Log.Error("panic in an ensemble", "ensemble", f.e.name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
}

// submit hands a step's request to its model. A panic there is an error, unless a
// queue has the request already: then that will answer it.
func (f *flow) submit(s *step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.fault(p)
			if s.request.State() == infer.Decoded {
				err = errFault
			}
		}
	}()
	return f.models[s.index].Submit(s.request)
}

// runContained is run, with an error in place of a panic.
func (s *step) runContained(ctx context.Context) (ev event) {
	defer func() {
		if p := recover(); p != nil {
			s.flow.fault(p)
			resp := infer.NewResponse()
			resp.Err = errFault
			ev = event{kind: responded, step: s, final: true, resp: resp}
		}
	}()
	return s.run(ctx)
}
