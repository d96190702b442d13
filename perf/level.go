package perf

import (
	"context"
	"errors"
	"fmt"

	"triton/perf/load"
)

// level measures under one load until it is stable and adds the level to the report.
func (r *run) level(ctx context.Context, gen load.Generator, batch int, at Load) (*Level, error) {
	l := &Level{Number: 1 + len(r.report.Levels) + len(r.report.Failed), Batch: batch, Load: at}
	r.progress.start(gen, l, r.settings)
	var err error
	if r.settings.RequestCount > 0 {
		err = r.measureCount(ctx, gen, l)
	} else {
		err = r.measureLevel(ctx, gen, l)
	}
	if err != nil {
		return l, err
	}
	limit := r.settings.LatencyLimit.Milliseconds()
	l.OverLimit = l.Stable && limit != 0 && l.Stabilizing.Milliseconds() >= limit
	switch {
	case l.Incomplete && l.Requests > 0:
		r.report.Levels = append(r.report.Levels, *l)
	case l.Incomplete:
	case !l.Stable:
		r.notice(r.unstableText(at))
		r.report.Failed = append(r.report.Failed, *l)
	case l.OverLimit:
		r.notice(fmt.Sprintf("Measured latency went over the set limit of %d msec. ", limit))
		r.report.Failed = append(r.report.Failed, *l)
	default:
		r.report.Levels = append(r.report.Levels, *l)
	}
	r.observe(LevelDone{l})
	return l, nil
}

func (r *run) unstableText(at Load) string {
	if at.Mode != Concurrency {
		return "Failed to obtain stable measurement."
	}
	option := "--measurement-interval"
	if r.settings.Windows == CountWindows {
		option = "--measurement-request-count"
	}
	return fmt.Sprintf("Failed to obtain stable measurement within %d measurement windows for concurrency %d. Please try to increase the %s.",
		r.settings.MaxTrials, at.Concurrency(), option)
}

// trials holds the windows of a level.
type trials struct {
	history []point
	recent  []*window // the last three; nil where the window failed
	errs    []error
}

func (t *trials) add(w *window, p point, err error) {
	if err != nil {
		p = failedPoint
	}
	t.history = append(t.history, p)
	t.recent, t.errs = append(t.recent, w), append(t.errs, err)
	if len(t.recent) > windowCount {
		t.recent, t.errs = t.recent[1:], t.errs[1:]
	}
}

func (t *trials) firstError() error {
	for _, err := range t.errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *run) measureLevel(ctx context.Context, gen load.Generator, l *Level) error {
	if err := r.start(ctx, gen, l); err != nil {
		return err
	}
	clock, err := r.startClock(ctx, gen)
	if err != nil {
		return err
	}
	defer clock.stop()
	var t trials
	threshold := r.settings.Stability
	for l.Trials < r.settings.MaxTrials && !l.Stable {
		if err := gen.Err(); err != nil {
			return err
		}
		if err := r.trial(ctx, clock, l, &t); err != nil {
			return err
		}
		if l.Incomplete {
			break
		}
		l.Stable = stable(t.history, windowCount, threshold, true)
		if exceeded(t.history, windowCount, int64(r.settings.LatencyLimit)) {
			break
		}
	}
	if r.settings.Async && !l.Stable && !l.Incomplete && stable(t.history, windowCount, threshold, false) {
		r.notice("Warning: Request latency is not stabilizing. Please try lowering the request rate.")
		l.Stable = true
	}
	if err := r.conclude(ctx, gen, l, &t); err != nil {
		return err
	}
	return r.keepProfile(clock, l)
}

// trial is one window of a level.
func (r *run) trial(ctx context.Context, clock *levelClock, l *Level, t *trials) error {
	r.progress.window()
	w, err := r.measure(ctx, clock)
	if errors.Is(err, errInterrupted) {
		l.Incomplete = true
		if w == nil { // it had no requests; the level is computed from the windows before it
			return nil
		}
		err = nil
	}
	if errors.Is(err, load.ErrLoad) || ctx.Err() != nil {
		return err
	}
	l.Trials++
	if err != nil {
		t.add(nil, failedPoint, err)
		r.observe(WindowDone{Trial: l.Trials, Err: err})
		return nil
	}
	s := r.summarize(w, l.Batch)
	t.add(w, point{s.Throughput, int64(s.Stabilizing)}, nil)
	r.observe(WindowDone{Trial: l.Trials, Summary: &s})
	return nil
}

// conclude computes the figures of the level from its last windows.
func (r *run) conclude(ctx context.Context, gen load.Generator, l *Level, t *trials) error {
	if l.Incomplete {
		r.report.Interrupted = true
		if err := gen.Drain(ctx); err != nil {
			return err
		}
	} else if err := t.firstError(); err != nil {
		return err
	}
	var good []*window
	for _, w := range t.recent {
		if w != nil {
			good = append(good, w)
		}
	}
	if len(good) > 0 {
		l.Summary = r.summarize(merge(good), l.Batch)
	}
	return nil
}

// measureCount sends a given number of requests and measures the time from the
// first start to the last end.
func (r *run) measureCount(ctx context.Context, gen load.Generator, l *Level) error {
	if err := gen.Drain(ctx); err != nil {
		return err
	}
	clock, err := r.startClock(ctx, gen)
	if err != nil {
		return err
	}
	defer clock.stop()
	r.progress.window()
	r.observe(LevelStarted{l.Batch, l.Load})
	done := gen.Start(r.generated(l.Load, r.settings.RequestCount))
	if err := r.await(ctx, gen, done); err != nil {
		return err
	}
	if r.interrupted() {
		l.Incomplete, r.report.Interrupted = true, true
		if err := gen.Drain(ctx); err != nil {
			return err
		}
	}
	w, err := r.endWindow(ctx, clock)
	switch {
	case err != nil && l.Incomplete:
		return nil // no request was complete
	case err != nil:
		return err
	}
	w.ns = w.span
	l.Trials, l.Stable = 1, true
	s := r.summarize(w, l.Batch)
	r.observe(WindowDone{Trial: 1, Summary: &s})
	l.Summary = s
	return r.keepProfile(clock, l)
}

func (r *run) interrupted() bool {
	select {
	case <-r.deps.Interrupt:
		return true
	default:
		return false
	}
}
