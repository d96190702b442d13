package instance

import (
	"context"
	"fmt"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// run executes the batch of a slot, counts it and answers all requests except self. self is
// the request of the caller that runs the batch on its own goroutine; nil on the goroutine
// of the instance. An instance that breaks is taken out of service before any answer is
// sent. A panic outside the backend does not break the instance.
//
// Responses are held back until the batch is counted and the inputs are released. So the
// statistics contain every request whose client has its answer.
func (g *Group) run(ctx context.Context, w *worker, self *infer.Request) {
	b := &w.slot.Batch
	begin := b.FormedAt
	if begin == 0 {
		begin = infer.Now()
	}
	for _, r := range b.Requests {
		r.Times.ComputeStart = begin
		r.Lend(w, g.decoupled && !r.Membership.Null)
	}
	w.notifyStarted(b, begin)
	err := g.execute(ctx, w, b)
	end := infer.Now()
	if why := broken(err); why != nil {
		w.markBroken(why)
	}
	g.ensureAnswered(w, b, err)
	g.count(w, b, begin, end, err)
	w.notifyEnded(b, begin, end, err)
	b.Executed(end)
	for i := 0; i < len(b.Requests); {
		i = w.finishRequests(b.Requests, i, self)
	}
	b.Reset()
}

// notifyStarted calls Observer.Started.
func (w *worker) notifyStarted(b *infer.Batch, begin int64) {
	if o := w.group.opts.Observer; o != nil && !w.warmingUp {
		defer w.contain("an observer of batches")
		o.Started(w.slot.Index, b, begin)
	}
}

// notifyEnded calls Observer.Ended.
func (w *worker) notifyEnded(b *infer.Batch, begin, end int64, err error) {
	if o := w.group.opts.Observer; o != nil && !w.warmingUp {
		defer w.contain("an observer of batches")
		o.Ended(w.slot.Index, b, scheduler.Execution{
			Why: w.slot.Why, Start: begin, End: end, Failed: err != nil, Broken: broken(err) != nil,
		})
	}
}

// contain is deferred around code outside the backend: a panic is logged and does not
// affect the instance.
func (w *worker) contain(where string) {
	if p := recover(); p != nil {
		w.report(where, p)
	}
}

// report logs a panic.
func (w *worker) report(where string, panicked any) {
	log.Panicked(w.group.opts.Log, "panic in "+where, panicked, "model", w.group.opts.Name, "version", w.group.opts.Version, "instance", w.at.Name)
}

// finishRequests ends the instance's use of the requests from index i on. After a panic it
// returns the index of the request behind the one that panicked, so that the others are
// finished too.
func (w *worker) finishRequests(all []*infer.Request, i int, self *infer.Request) (next int) {
	defer func() {
		next = i + 1
		if p := recover(); p != nil {
			w.report("finishing a request", p)
		}
	}()
	for last := len(all) - 1; ; i++ {
		w.finishRequest(all[i], self)
		if i == last {
			return
		}
	}
}

// finishRequest ends the instance's use of one request.
func (w *worker) finishRequest(r, self *infer.Request) {
	switch {
	case r.Rescheduled():
		w.suspend(r)
	case r.IsKept(): // the core's reference is released when the backend has let go: Finished
		if r != self {
			r.Deliver()
		}
		if r.Returned() {
			w.Finished(r)
		}
	default:
		r.ReleaseInputs()
		if r != self {
			r.Deliver()
		}
		w.group.released(r)
	}
}

// suspend ends the use of a request that was rescheduled: it runs again.
func (w *worker) suspend(r *infer.Request) {
	if r.IsKept() { // Lend keeps it again
		w.kept.remove(r)
		r.Suspend()
		defer w.group.done()
	}
	w.group.released(r)
}

// released releases the core's reference, or hands it to the source if the request is
// rescheduled.
func (g *Group) released(r *infer.Request) {
	if g.releaser == nil || !g.releaser.Released(r) {
		r.Release()
	}
}

// execute calls the backend, on the thread of the instance if it is bound to one.
func (g *Group) execute(ctx context.Context, w *worker, b *infer.Batch) error {
	if w.thread != nil {
		return g.executeBound(ctx, w, b)
	}
	return g.executeHere(ctx, w, b)
}

// executeHere calls the backend and turns a panic into an error.
func (g *Group) executeHere(ctx context.Context, w *worker, b *infer.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Panicked(g.opts.Log, "an instance panicked", p, "model", g.opts.Name, "version", g.opts.Version, "instance", w.at.Name)
			err = &status.Error{
				Code: status.Internal, Msg: fmt.Sprintf("instance '%s' of model '%s' broke down during execution", w.at.Name, g.opts.Name),
				Cause: fmt.Errorf("%w: panic: %v", backend.ErrBroken, p),
			}
		}
	}()
	if b.Refused != nil {
		return b.Refused
	}
	return w.instance.Execute(ctx, b)
}

// ensureAnswered answers the requests that the backend has not answered, unless it keeps
// them and the call succeeded: then it will answer them later.
func (g *Group) ensureAnswered(w *worker, b *infer.Batch, err error) {
	for _, r := range b.Requests {
		switch {
		case r.Membership.Null || r.Rescheduled() && err == nil: // has no caller, or runs again
		case r.IsKept() && err != nil:
			r.Revoke(err)
		case r.IsKept() && g.decoupled: // is answered later: Responded counts the responses
		case r.IsKept():
			r.MarkIfLate()
		case r.State() == infer.Answered: // as it should be
		case err == nil:
			r.Fail(status.New(status.Internal, "instance '%s' of model '%s' gave no response to the request", w.at.Name, g.opts.Name))
		default:
			r.Fail(err)
		}
		if r.RespondedAfterFinal() {
			g.opts.Log.Error("an instance answered a request more than once; the first answer counts", "model", g.opts.Name,
				"version", g.opts.Version, "instance", w.at.Name)
		}
	}
}

// count counts the batch in the statistics. A batch whose requests all failed does not
// count as an execution. Requests are counted by their final response, with two
// exceptions. If the model is decoupled, a request for which the backend called Keep is
// counted by batchErr, the result of the call, and its time ends with the call, as in Triton;
// only the distributions have its time to the last response. If it is not, a late request is
// counted by Completed and not here.
func (g *Group) count(w *worker, b *infer.Batch, begin, end int64, batchErr error) {
	if b.InputEnd == 0 {
		b.InputEnd = begin
	}
	if b.OutputStart == 0 {
		b.OutputStart = end
	}
	s := stats.Batch{
		Rows: b.Rows, End: end,
		Input: b.InputEnd - begin, Infer: b.OutputStart - b.InputEnd, Output: end - b.OutputStart,
	}
	for _, r := range b.Requests {
		if r.Membership.Null || r.Late() {
			continue
		}
		if !g.decoupled && !r.Rescheduled() { // otherwise Responded counts it
			g.opts.Stats.FirstResponse(end - r.Times.Received)
		}
		err := batchErr
		if !g.decoupled || !r.KeptExplicitly() {
			err = r.Failure()
		}
		if err != nil {
			w.stats.Fail(failureKind(r, err), end-r.Times.Received)
			continue
		}
		s.Requests++
		s.Succeeded += r.Rows()
		s.Total += end - r.Times.Received
		s.Queued += begin - r.Times.Queued
		if !w.stats.Detailed() {
			continue
		}
		sample := stats.Sample{
			Total: end - r.Times.Received, Queue: begin - r.Times.Queued, Input: s.Input, Infer: s.Infer, Output: s.Output,
		}
		if g.decoupled {
			w.stats.ObserveComputed(sample) // Responded adds the total time
		} else {
			w.stats.Observe(sample)
		}
	}
	if !w.warmingUp {
		g.opts.Stats.BatchFormed(w.slot.Why)
	}
	if batchErr == nil && !b.Unreported || s.Requests > 0 {
		w.stats.Executed(&s)
		w.executions.Add(1)
	}
}

// failureKind returns the reason that a failed request is counted under.
func failureKind(r *infer.Request, err error) stats.Failure {
	if r.Cancelled() && status.CodeOf(err) == status.Cancelled {
		return stats.Canceled
	}
	return stats.Backend
}

// closeContained closes an object of a backend that may be broken.
func (g *Group) closeContained(what string, close func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("closing '%s': panic: %v", what, p)
		}
	}()
	if err = close(); err != nil {
		err = fmt.Errorf("closing '%s': %w", what, err)
	}
	return err
}
