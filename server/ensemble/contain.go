package ensemble

import (
	"context"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/infer"
)

var errInternal = status.New(status.Internal, "internal error while the ensemble was run; the server's log has the details")

// handleContained handles an event. A panic fails the flow's request and nothing else:
// the goroutine may belong to an instance of any model.
func (f *flow) handleContained(ev event, caller bool) {
	f.ended = false
	defer func() {
		if p := recover(); p != nil {
			f.logPanic(p)
			f.failAfterPanic(ev)
		}
	}()
	f.handle(ev, caller)
}

// failAfterPanic fails the flow after a panic. It ends the step of the interrupted event
// and cancels the steps in flight; the flow is over when these have ended. If one of these
// calls panics too, a step may never end; then the request is answered at once.
func (f *flow) failAfterPanic(ev event) {
	f.ready, f.responsesDue, f.over = f.ready[:0], f.responsesDue[:0], false
	if f.err == nil {
		f.err = errInternal
	}
	cleaned := true
	if ev.kind == responseArrived && ev.final && !f.ended {
		cleaned = f.contained(func() { f.endStep(ev) })
	}
	if s := f.callerStep; s != nil {
		f.callerStep = nil
		cleaned = f.contained(func() { f.discard(s, f.err) }) && cleaned
	}
	for _, s := range f.steps {
		cleaned = f.contained(func() { f.cancel(s, f.err) }) && cleaned
	}
	if f.contained(f.respondReady) && (cleaned || f.over) {
		return
	}
	f.over = len(f.steps) == 0
	f.contained(func() { f.fail(f.err) })
	f.request.Fail(errInternal) // if it is still unanswered
	f.request.Deliver()
}

// contained reports whether do returned without a panic.
func (f *flow) contained(do func()) (returned bool) {
	defer func() {
		if p := recover(); p != nil {
			f.logPanic(p)
		}
	}()
	do()
	return true
}

func (f *flow) logPanic(p any) {
	log.Panicked(f.e.opts.Log, "panic in an ensemble", p, "ensemble", f.e.name)
}

// submit hands a step's request to its model. A panic becomes an error, unless the
// request is already queued: then the model will answer it.
func (f *flow) submit(s *step) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.logPanic(p)
			if s.request.State() == infer.Decoded {
				err = errInternal
			}
		}
	}()
	return f.models[s.index].Submit(s.request)
}

// runContained is run, with an error in place of a panic.
func (s *step) runContained(ctx context.Context) (ev event) {
	defer func() {
		if p := recover(); p != nil {
			s.flow.logPanic(p)
			resp := infer.NewResponse()
			resp.Err = errInternal
			ev = event{kind: responseArrived, step: s, final: true, resp: resp}
		}
	}()
	return s.run(ctx)
}
