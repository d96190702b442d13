// Package admission refuses requests at once that cannot be answered before
// their deadline, so that no instance works for clients who are gone by then. It
// stands in front of a model version's instances and learns from their batches.
package admission

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Runner refuses what cannot be answered in time and passes on the rest.
type Runner struct {
	infer.Runner
	estimate *Estimate
	line     Line
	stats    *stats.Model
}

// Line is what requests wait in.
type Line interface {
	// Ahead is how many requests would be served before a new one of that
	// priority.
	Ahead(priority uint64) int
}

var _ infer.Runner = (*Runner)(nil)

// New stands in front of next, whose batches the estimate hears of and whose
// requests wait in the line.
func New(next infer.Runner, e *Estimate, l Line, m *stats.Model) *Runner {
	m.EnableRefusals()
	return &Runner{Runner: next, estimate: e, line: l, stats: m}
}

// Infer refuses the request or runs it. The end of ctx is a deadline too.
func (a *Runner) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	left := timeout(r)
	if d, ok := ctx.Deadline(); ok {
		left = min(left, time.Until(d))
	}
	if err := a.check(r, left); err != nil {
		r.Release()
		return nil, err
	}
	return a.Runner.Infer(ctx, r)
}

// Submit refuses the request or queues it.
func (a *Runner) Submit(r *infer.Request) error {
	if err := a.check(r, timeout(r)); err != nil {
		return err
	}
	return a.Runner.Submit(r)
}

// none is more time than any request has.
const none = time.Duration(1<<63 - 1)

// timeout is what the request itself says.
func timeout(r *infer.Request) time.Duration {
	if r.TimeoutMicros == 0 || r.TimeoutMicros > uint64(none/time.Microsecond) {
		return none
	}
	return time.Duration(r.TimeoutMicros) * time.Microsecond
}

func (a *Runner) check(r *infer.Request, left time.Duration) error {
	if left == none {
		return nil
	}
	now := infer.Now()
	err := a.estimate.Check(r, now, a.line.Ahead(r.Priority), left)
	if err != nil {
		a.stats.Refuse(now - r.Times.Received)
	}
	return err
}

// Check says whether a request that waits behind that many others may be
// answered within the time that is left.
func (e *Estimate) Check(r *infer.Request, now int64, waiting int, left time.Duration) error {
	done, known := e.Finish(now, waiting, r.Rows())
	if need := time.Duration(done - now); known && need > left {
		return status.New(status.Unavailable,
			"%sRequest cannot meet its deadline: it would be answered in about %v, and %v are left",
			r.Tag(), need.Round(time.Microsecond), left.Round(time.Microsecond))
	}
	return nil
}
