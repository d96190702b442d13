// Package admission is admission control: it refuses requests at once that cannot be
// answered before their deadline, so that instances do not work for clients that have
// given up. It wraps a model version's instances and learns from their batches.
package admission

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Runner refuses requests that would be late and passes on the rest.
type Runner struct {
	infer.Runner
	estimate *Estimate
	queue    Queue
	stats    *stats.Model
}

// Queue is the queue in which requests wait.
type Queue interface {
	// Ahead returns how many requests would be served before r if it entered now.
	Ahead(r *infer.Request) int
}

var _ infer.Runner = (*Runner)(nil)

// New returns a runner in front of next. The estimate observes the batches of next; the
// queue is the one in which its requests wait.
func New(next infer.Runner, e *Estimate, q Queue, m *stats.Model) *Runner {
	m.EnableRefusals()
	return &Runner{Runner: next, estimate: e, queue: q, stats: m}
}

// Infer refuses the request or runs it. The deadline of ctx counts too.
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

// unlimited is the timeout of requests without a timeout.
const unlimited = time.Duration(1<<63 - 1)

// timeout returns the request's own timeout.
func timeout(r *infer.Request) time.Duration {
	if r.TimeoutMicros == 0 {
		return unlimited
	}
	return r.Timeout()
}

// check returns an error for a request that would be answered too late.
func (a *Runner) check(r *infer.Request, left time.Duration) error {
	if left == unlimited {
		return nil
	}
	now := infer.Now()
	err := a.estimate.Check(r, now, a.queue.Ahead(r), left)
	if err != nil {
		a.stats.Refuse(now - r.Times.Received)
	}
	return err
}

// Check returns an error if a request with that many requests ahead of it cannot be
// answered within the remaining time.
func (e *Estimate) Check(r *infer.Request, now int64, waiting int, left time.Duration) error {
	done, known := e.FinishTime(now, waiting, r.Rows())
	if need := time.Duration(done - now); known && need > left {
		return status.New(status.Unavailable,
			"%sRequest cannot meet its deadline: it would be answered in about %v, and %v are left",
			r.Tag(), need.Round(time.Microsecond), left.Round(time.Microsecond))
	}
	return nil
}
