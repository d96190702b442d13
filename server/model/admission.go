// Admission control refuses requests at once that cannot be answered before their deadline, so that
// instances do not work for clients that have given up. It learns from the batches of the instances.

package model

import (
	"context"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// admissionRunner refuses requests that would be late and passes on the rest.
type admissionRunner struct {
	infer.Runner
	estimate *finishEstimate
	queue    aheadCounter
	stats    *stats.Model
}

// aheadCounter is the queue in which requests wait.
type aheadCounter interface {
	// Ahead returns how many requests would be served before r if it entered now.
	Ahead(r *infer.Request) int
}

var _ infer.Runner = (*admissionRunner)(nil)

// newAdmission returns a runner in front of next. The estimate observes the batches of next; the
// queue is the one in which its requests wait.
func newAdmission(next infer.Runner, e *finishEstimate, q aheadCounter, m *stats.Model) *admissionRunner {
	m.EnableRefusals()
	return &admissionRunner{Runner: next, estimate: e, queue: q, stats: m}
}

// Infer refuses the request or runs it. The deadline of ctx counts too.
func (a *admissionRunner) Infer(ctx context.Context, r *infer.Request) (*infer.Response, error) {
	left := timeoutOf(r)
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
func (a *admissionRunner) Submit(r *infer.Request) error {
	if err := a.check(r, timeoutOf(r)); err != nil {
		return err
	}
	return a.Runner.Submit(r)
}

// unlimited is the timeout of requests without a timeout.
const unlimited = time.Duration(1<<63 - 1)

// timeoutOf returns the request's own timeout.
func timeoutOf(r *infer.Request) time.Duration {
	if r.TimeoutMicros == 0 {
		return unlimited
	}
	return r.Timeout()
}

// check returns an error for a request that would be answered too late.
func (a *admissionRunner) check(r *infer.Request, left time.Duration) error {
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
func (e *finishEstimate) Check(r *infer.Request, now int64, waiting int, left time.Duration) error {
	done, known := e.FinishTime(now, waiting, r.Rows())
	if need := time.Duration(done - now); known && need > left {
		return status.New(status.Unavailable,
			"%sRequest cannot meet its deadline: it would be answered in about %v, and %v are left",
			r.Tag(), need.Round(time.Microsecond), left.Round(time.Microsecond))
	}
	return nil
}
