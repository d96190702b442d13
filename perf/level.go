package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
)

// level measures under one load until it is stable and adds the level to the report.
func (r *run) level(ctx context.Context, gen load.Generator, batch int, at Load) (*Level, error) {
	l := &Level{Number: 1 + len(r.report.Levels) + len(r.report.Failed), Batch: batch, Load: at}
	r.progress.start(gen, l, r.settings)
	r.setLight(at.light(r.size))
	err := r.warmUp(ctx, gen, l)
	switch {
	case err != nil:
	case r.settings.RequestCount > 0:
		err = r.measureCount(ctx, gen, l)
	default:
		err = r.measureLevel(ctx, gen, l)
	}
	if errors.Is(err, errInterrupted) { // before the level was under load
		l.Incomplete, r.report.Interrupted, err = true, true, nil
	}
	if err != nil {
		return l, err
	}
	r.judge(l)
	limit := r.settings.LatencyLimit
	l.OverLimit = l.Stable && limit > 0 && l.Stabilizing >= limit
	switch {
	case l.Incomplete && l.Requests > 0:
		r.report.Levels = append(r.report.Levels, *l)
	case l.Incomplete:
	case !l.Stable:
		r.notice(r.unstableText(l))
		r.report.Failed = append(r.report.Failed, *l)
	case l.OverLimit:
		r.notice(fmt.Sprintf("Measured latency went over the set limit of %g msec. ", float64(limit.Microseconds())/1000))
		r.report.Failed = append(r.report.Failed, *l)
	default:
		r.report.Levels = append(r.report.Levels, *l)
	}
	r.observe(LevelDone{l})
	return l, nil
}

func (r *run) unstableText(l *Level) string {
	if len(r.settings.StopWhen) > 0 {
		return fmt.Sprintf("Failed to obtain stable measurement within %.3g sec: %s. Please try to increase the --measurement-interval, the --max-trials or the widths of --stop-when.",
			l.Duration.Seconds(), widthsText(l.Widths))
	}
	if l.Load.Mode != Concurrency {
		return "Failed to obtain stable measurement."
	}
	option := "--measurement-interval"
	if r.settings.Windows == CountWindows {
		option = "--measurement-request-count"
	}
	return fmt.Sprintf("Failed to obtain stable measurement within %d measurement windows for concurrency %d. Please try to increase the %s.",
		r.settings.MaxTrials, l.Load.Concurrency(), option)
}

func (r *run) measureLevel(ctx context.Context, gen load.Generator, l *Level) error {
	if err := r.start(ctx, gen, l); err != nil {
		return err
	}
	begin := lane.Now()
	if err := r.settle(ctx, gen, l); err != nil {
		return err
	}
	clock, err := r.startClock(ctx, gen)
	if err != nil {
		return err
	}
	defer clock.stop()
	l.WarmUp.Requests, l.WarmUp.Duration = clock.discarded, time.Duration(clock.windowStart-begin)
	measureWindows := r.measureWindows
	if len(r.settings.StopWhen) > 0 {
		measureWindows = r.measureGoals
	}
	measured, err := measureWindows(ctx, clock, l)
	if err != nil {
		r.noteRefusal(clock, clock.tolerated)
		return err
	}
	r.observe(LevelMeasured{})
	// The figures are computed while no load runs, so that they do not cost the client time that
	// it measures.
	gen.Pause()
	if l.Incomplete {
		r.report.Interrupted = true
		if err := r.finish(ctx, gen); err != nil {
			return err
		}
	}
	if measured != nil {
		l.Summary = r.summarize(measured, l.Batch)
		l.Widths = r.widths(measured.samples, measured.from, measured.to())
		l.Detail.count(clock, measured, percentiles(r.settings.Percentile))
		r.noteRefusal(clock, l.Errors)
	}
	return r.keepProfile(clock, l)
}

// noteRefusal names the last of n failed requests.
func (r *run) noteRefusal(clock *levelClock, n uint64) {
	if n > 0 && clock.refusal != nil {
		r.notice(fmt.Sprintf("WARNING: %d requests failed, the last one with: %v", n, clock.refusal))
	}
}

// measureCount sends a given number of requests and measures the time from the
// first start to the last end.
func (r *run) measureCount(ctx context.Context, gen load.Generator, l *Level) error {
	if err := r.becomeIdle(ctx, gen); err != nil {
		return err
	}
	if err := r.openConnections(ctx, gen, l.Load); err != nil {
		return err
	}
	clock, err := r.startClock(ctx, gen)
	if err != nil {
		return err
	}
	defer clock.stop()
	r.progress.window()
	r.observe(LevelStarted{Batch: l.Batch, Load: l.Load})
	done := gen.Start(r.generated(l.Load, r.settings.RequestCount))
	if err := r.await(ctx, gen, done); err != nil {
		return err
	}
	if r.interrupted() {
		l.Incomplete, r.report.Interrupted = true, true
		if err := r.finish(ctx, gen); err != nil {
			return err
		}
	}
	w, err := r.endWindow(ctx, clock)
	r.observe(LevelMeasured{})
	r.noteRefusal(clock, clock.tolerated)
	switch {
	case errors.Is(err, ErrNoRequests) && l.Incomplete:
		return nil
	case err != nil:
		return err
	}
	course := *w
	w.ns = w.span
	l.Trials, l.Stable = 1, true
	s := r.summarize(w, l.Batch)
	l.Detail.addWindow(clock, &s, nil)
	l.Detail.count(clock, &course, percentiles(r.settings.Percentile))
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
