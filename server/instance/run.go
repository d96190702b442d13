package instance

import (
	"context"
	"fmt"
	"runtime/debug"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// run executes the batch of a slot, counts it and answers everybody but self, the
// caller whose goroutine this is. An instance that breaks is out of service before
// anybody hears of it; nothing else that panics here breaks it.
//
// Responses are held back until the statistics are counted and the inputs
// released: who has an answer also finds it in the statistics.
func (g *Group) run(ctx context.Context, w *worker, self *infer.Request) {
	b := &w.seat.Batch
	begin := b.Cut
	if begin == 0 {
		begin = infer.Now()
	}
	for _, r := range b.Requests {
		r.Times.ComputeStart = begin
		r.Lend(w, g.decoupled && !r.Member.Null)
	}
	w.began(b, begin)
	err := g.execute(ctx, w, b)
	end := infer.Now()
	if why := broken(err); why != nil {
		w.breakDown(why)
	}
	g.settle(w, b, err)
	g.count(w, b, begin, end, err)
	w.ran(b, begin, end, err)
	b.Executed(end)
	for i := 0; i < len(b.Requests); {
		i = w.giveBack(b.Requests, i, self)
	}
	b.Reset()
}

// began tells the observer.
func (w *worker) began(b *infer.Batch, begin int64) {
	if o := w.group.opts.Observer; o != nil && !w.cold {
		defer w.contain("an observer of batches")
		o.Began(w.seat.Index, b, begin)
	}
}

// ran tells the observer.
func (w *worker) ran(b *infer.Batch, begin, end int64, err error) {
	if o := w.group.opts.Observer; o != nil && !w.cold {
		defer w.contain("an observer of batches")
		o.Ended(w.seat.Index, b, scheduler.Ran{
			Why: w.seat.Why, Begin: begin, End: end, Failed: err != nil, Broken: broken(err) != nil,
		})
	}
}

// contain is deferred around what is not the engine's: a panic there is reported
// and changes nothing for the instance.
func (w *worker) contain(where string) {
	if p := recover(); p != nil {
		w.report(where, p)
	}
}

func (w *worker) report(where string, panicked any) {
	w.group.opts.Log.Error("panic in "+where, "model", w.group.opts.Name, "version", w.group.opts.Version,
		"instance", w.at.Name, "panic", fmt.Sprint(panicked), "stack", string(debug.Stack()))
}

// giveBack ends the instance's use of the requests from index i on, and returns the
// index of the next one to give back: a panic costs no other request its answer.
func (w *worker) giveBack(all []*infer.Request, i int, self *infer.Request) (next int) {
	defer func() {
		next = i + 1
		if p := recover(); p != nil {
			w.report("the end of a request", p)
		}
	}()
	for last := len(all) - 1; ; i++ {
		w.giveBackOne(all[i], self)
		if i == last {
			return
		}
	}
}

func (w *worker) giveBackOne(r, self *infer.Request) {
	g := w.group
	switch {
	case r.Rescheduled():
		if r.IsKept() { // it is kept again when it runs again
			w.kept.remove(r)
			r.Suspend()
			defer g.leave()
		}
	case r.IsKept():
		if r != self {
			r.Deliver()
		}
		if r.Returned() {
			w.Finished(r)
		}
		return
	default:
		r.ReleaseInputs()
		if r != self {
			r.Deliver()
		}
	}
	g.released(r)
}

// released gives the core's reference back, to the source if that wants the
// request again.
func (g *Group) released(r *infer.Request) {
	if g.releaser == nil || !g.releaser.Released(r) {
		r.Release()
	}
}

// execute calls the backend and turns a panic into an error.
func (g *Group) execute(ctx context.Context, w *worker, b *infer.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opts.Log.Error("an instance panicked", "model", g.opts.Name, "version", g.opts.Version,
				"instance", w.at.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
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

// settle makes sure that every request has exactly one final answer, now or,
// when its engine keeps it and the call did not fail, later.
func (g *Group) settle(w *worker, b *infer.Batch, err error) {
	for _, r := range b.Requests {
		switch {
		case r.Member.Null || r.Rescheduled() && err == nil:
		case r.IsKept() && err != nil:
			r.Revoke(err)
		case r.IsKept() && g.decoupled:
		case r.IsKept():
			r.Settle()
		case r.State() == infer.Answered:
		case err == nil:
			r.Fail(status.New(status.Internal, "instance '%s' of model '%s' gave no response to the request", w.at.Name, g.opts.Name))
		default:
			r.Fail(err)
		}
		if r.Overdone() {
			g.opts.Log.Error("an instance answered a request more than once; the first answer counts", "model", g.opts.Name,
				"version", g.opts.Version, "instance", w.at.Name)
		}
	}
}

// count brings the batch into the statistics. One that failed for all is no
// execution. A request of a decoupled model that its engine keeps with Keep counts
// by the call, as Triton counts it, whether the engine is fast or slow with its
// answers. One of another model that is answered late counts then.
func (g *Group) count(w *worker, b *infer.Batch, begin, end int64, failed error) {
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
		if r.Member.Null || r.Late() {
			continue
		}
		if !g.decoupled && !r.Rescheduled() { // else Responded does
			g.opts.Stats.FirstResponse(end - r.Times.Received)
		}
		err := failed
		if !g.decoupled || !r.ToBeLetGo() {
			err = r.Failure()
		}
		if err != nil {
			w.stats.Fail(why(r, err), end-r.Times.Received)
			continue
		}
		s.Requests++
		s.Succeeded += r.Rows()
		s.Total += end - r.Times.Received
		s.Queued += begin - r.Times.Queued
		if w.stats.Detailed() {
			w.stats.Observe(stats.Sample{
				Total: end - r.Times.Received, Queue: begin - r.Times.Queued, Input: s.Input, Infer: s.Infer, Output: s.Output,
			})
		}
	}
	if !w.cold {
		g.opts.Stats.BatchFormed(w.seat.Why)
	}
	if failed == nil || s.Requests > 0 {
		w.stats.Executed(&s)
	}
}

// why is the reason that a failed request is counted under.
func why(r *infer.Request, err error) stats.Failure {
	if r.Cancelled() && status.CodeOf(err) == status.Cancelled {
		return stats.Canceled
	}
	return stats.Backend
}

// safely closes something of a backend that may be broken.
func (g *Group) safely(what string, close func() error) (err error) {
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
