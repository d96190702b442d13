package ensemble

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
)

var errFault = status.New(status.Internal, "internal error while the ensemble was run; the server's log has the details")

// handleContained handles an event. A panic fails the flow's request and nothing
// else: the goroutine may be that of any model's instance.
func (f *flow) handleContained(ev event, caller bool) {
	defer func() {
		if p := recover(); p != nil {
			f.fault(p)
			f.recover(ev)
		}
	}()
	f.handle(ev, caller)
}

// recover ends what the handling of an event has left open, and then the flow
// when its steps have ended.
func (f *flow) recover(ev event) {
	defer func() {
		if p := recover(); p != nil { // the answer itself: there is only the error left
			f.fault(p)
			f.over = true
			f.request.Fail(errFault)
		}
	}()
	if ev.kind == responded && ev.final && slices.Contains(f.steps, ev.step) {
		f.end(ev)
	}
	f.ready = f.ready[:0]
	f.fails(errFault)
	for _, s := range f.steps {
		s.request.Cancel()
	}
	f.conclude()
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
