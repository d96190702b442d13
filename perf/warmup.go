package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
)

// warmUp sends the warm-up requests of a level, which no figure counts.
func (r *run) warmUp(ctx context.Context, gen load.Generator, l *Level) error {
	n := r.settings.WarmupCount
	if n == 0 {
		return nil
	}
	at := l.Load
	if at.Concurrency() > n {
		r.notice("WARNING: The number of concurrent requests exceeds the warmup request count. Adjusting warmup concurrency to match the warmup request count.")
		at.Value = float64(n)
	}
	if err := r.becomeIdle(ctx, gen); err != nil {
		return err
	}
	done := gen.Start(r.demand(at, n))
	if at.Mode == Concurrency { // perf_analyzer has no line for the warm-up of the other modes
		r.observe(LevelStarted{Batch: l.Batch, Load: at, WarmUp: true})
	}
	return r.await(ctx, gen, done)
}

// connector opens the connections of a level in advance.
type connector interface {
	Connect(ctx context.Context, n int) error
}

// openConnections waits until the connections of a level are open, at most answerTime.
func (r *run) openConnections(ctx context.Context, gen load.Generator, at Load) error {
	c, ok := gen.(connector)
	if !ok {
		return nil
	}
	return r.unlessInterrupted(ctx, func(ctx context.Context) error {
		err := r.ask(ctx, func(ctx context.Context) error { return c.Connect(ctx, at.Concurrency()) })
		if err != nil && !errors.Is(err, load.ErrLoad) {
			return fmt.Errorf("connecting: %w", err)
		}
		return err
	})
}

// becomeIdle waits until the requests of the level before are answered, or until the interrupt.
func (r *run) becomeIdle(ctx context.Context, gen load.Generator) error {
	return r.unlessInterrupted(ctx, gen.Drain)
}

// watchMachine returns Process.Others and Process.Pace of the level that begins.
func (r *run) watchMachine(ctx context.Context, gen load.Generator) (others, pace float64, err error) {
	if r.watcher == nil || r.deps.Shared {
		return -1, 0, nil
	}
	if err := r.becomeIdle(ctx, gen); err != nil {
		return -1, 0, err
	}
	others = r.watcher.others(r.deps.Interrupt)
	if r.settings.repeatsDecide() && r.deps.RoundTrips != nil {
		pace = r.deps.RoundTrips(paceTime, r.deps.Interrupt)
	}
	return others, pace, ctx.Err()
}

// paceTime is how long the pace of the machine is measured before a level.
const paceTime = 100 * time.Millisecond

// unlessInterrupted calls wait, which the interrupt ends with errInterrupted.
func (r *run) unlessInterrupted(ctx context.Context, wait func(context.Context) error) error {
	waiting, stop := r.untilInterrupt(ctx)
	defer stop()
	err := wait(waiting)
	if err != nil && ctx.Err() == nil && r.interrupted() {
		return errInterrupted
	}
	return err
}

// endInterrupted ends a level that was interrupted under load: it waits for the requests in flight.
// A request that is not answered within answerTime does not keep the results back.
func (r *run) endInterrupted(ctx context.Context, gen load.Generator, l *Level) error {
	l.Incomplete, r.report.Interrupted = true, true
	limited, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	err := gen.Drain(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		r.warn("requests in flight were not answered within %s of the interrupt and are not counted.", answerTime)
		return nil
	}
	return err
}

// startLoad puts the generator under the load of a level, after the last request of the level before
// was answered and the connections are open.
func (r *run) startLoad(ctx context.Context, gen load.Generator, l *Level) error {
	if err := r.becomeIdle(ctx, gen); err != nil {
		return err
	}
	if err := r.openConnections(ctx, gen, l.Load); err != nil {
		return err
	}
	gen.Collect(nil, lane.Now())
	// The observer may wait, as that of several models does until all are here. Requests with due times
	// must not begin meanwhile; the others keep up the load under which it waits.
	rate := l.Load.Mode.Rate()
	if rate {
		r.observe(LevelStarted{Batch: l.Batch, Load: l.Load})
	}
	gen.Start(r.demand(l.Load, 0))
	if !rate {
		r.observe(LevelStarted{Batch: l.Batch, Load: l.Load})
	}
	return nil
}

// answerer reports whether all workers of a level have received a response.
type answerer interface{ Answered() bool }

// answerPoll is how often awaitAnswers asks. It is a prime number of microseconds, so that windows do not
// begin in step with a periodic load.
const answerPoll = 997 * time.Microsecond

// awaitAnswers waits until the level is under way: every worker has received a response, which includes
// the first execution on the server, or with a schedule the first response has come. It waits no
// longer than a window. An interrupt is no error here: the load runs already, so that measureLevel has
// to wait for its requests.
func (r *run) awaitAnswers(ctx context.Context, gen load.Generator, l *Level) error {
	begin := time.Now()
	limit := windowLength(r.settings.Interval)
	for !answered(gen) {
		if time.Since(begin) >= limit {
			l.WarmUp.Limit = true
			return nil
		}
		if err := r.sleepUnderLoad(ctx, gen, answerPoll); err != nil {
			if errors.Is(err, errInterrupted) {
				l.Incomplete = true
				err = nil
			}
			return err
		}
	}
	return nil
}

func answered(gen load.Generator) bool {
	if a, ok := gen.(answerer); ok {
		return a.Answered()
	}
	return gen.Pending() > 0
}
