package instance

import (
	"context"
	"fmt"
	"runtime/debug"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// run executes the batch of a seat, counts it and answers everybody but self,
// the caller whose goroutine this is. False when the instance is broken.
//
// Responses are held back until the statistics are counted and the inputs
// released: who has an answer also finds it in the statistics.
func (g *Group) run(ctx context.Context, w *worker, self *infer.Request) (healthy bool) {
	b := &w.seat.Batch
	begin := infer.Now()
	for _, r := range b.Requests {
		r.Times.ComputeStart = begin
		if g.decoupled && !r.Member.Null {
			g.open(r)
		} else {
			r.Hold()
		}
	}
	if g.opts.Observer != nil && !w.cold {
		g.opts.Observer.Began(w.seat.Index, b, begin)
	}
	healthy, err := g.execute(ctx, w, b)
	end := infer.Now()
	g.settle(w, b, err)
	g.count(w, b, begin, end, err == nil)
	if g.opts.Observer != nil && !w.cold {
		g.opts.Observer.Ended(w.seat.Index, b, scheduler.Ran{
			Why: w.seat.Why, Begin: begin, End: end, Failed: err != nil, Broken: !healthy,
		})
	}
	b.Executed(end)
	for _, r := range b.Requests {
		switch {
		case g.decoupled && !r.Member.Null:
			g.executed(r)
			continue
		case !r.Rescheduled():
			r.ReleaseInputs()
			if r != self {
				r.Deliver()
			}
		}
		g.released(r)
	}
	b.Reset()
	return healthy
}

// released gives the core's reference back, to the source if that wants the
// request again.
func (g *Group) released(r *infer.Request) {
	if g.releaser == nil || !g.releaser.Released(r) {
		r.Release()
	}
}

// execute calls the backend and turns a panic into an error.
func (g *Group) execute(ctx context.Context, w *worker, b *infer.Batch) (healthy bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			g.opts.Log.Error("an instance panicked and is taken out of service", "model", g.opts.Name, "version", g.opts.Version,
				"instance", w.at.Name, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = status.New(status.Internal, "instance '%s' of model '%s' broke down during execution", w.at.Name, g.opts.Name)
			healthy = false
		}
	}()
	return true, w.instance.Execute(ctx, b)
}

// settle makes sure that every request has exactly one final answer, now or,
// when it is open and the call did not fail, later.
func (g *Group) settle(w *worker, b *infer.Batch, err error) {
	for _, r := range b.Requests {
		switch {
		case r.Member.Null || r.Rescheduled() && err == nil:
		case g.decoupled && (err == nil || r.Ended()):
		case !g.decoupled && r.State() == infer.Answered:
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
// execution. What an engine of a decoupled model does after its call is not in
// these numbers, as in Triton's.
func (g *Group) count(w *worker, b *infer.Batch, begin, end int64, executed bool) {
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
		if r.Member.Null {
			continue
		}
		if !g.decoupled && !r.Rescheduled() { // else Responded does
			g.opts.Stats.FirstResponse(end - r.Times.Received)
		}
		if err := r.Failure(); err != nil {
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
		g.opts.Stats.Cut(w.seat.Why)
	}
	if executed || s.Requests > 0 {
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
