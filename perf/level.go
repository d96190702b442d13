package perf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
)

// level measures under one load until it is stable and adds the level to the report. Each of these calls
// the next: measureLevel, measureUntilAgreed (its windows), addWindow (one of them), measureWindow,
// closeWindow, collectWindow. With StopWhen it is measureLevel, measureUntilNarrow, addGoalWindow,
// collectWindow; with RequestCount measureCount, closeWindow, collectWindow.
func (r *run) level(ctx context.Context, gen load.Generator, batch int, at Load) (*Level, error) {
	l := &Level{Number: 1 + len(r.report.Levels) + len(r.report.Failed), Batch: batch, Load: at, Repeat: r.repeat}
	r.progress.start(gen, l, r.settings)
	r.setLight(at.light(r.size))
	others, pace, err := r.watchMachine(ctx, gen)
	if err == nil {
		err = r.warmUp(ctx, gen, l)
	}
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
	if l.Process != nil {
		l.Process.Others, l.Process.Pace = others, pace
	}
	r.gradeLevel(l)
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

// measureLevel puts the generator under the load of a level and measures windows until they are
// stable. After an interrupt it measures no further window, and ends the one that runs.
func (r *run) measureLevel(ctx context.Context, gen load.Generator, l *Level) error {
	if err := r.startLoad(ctx, gen, l); err != nil {
		return err
	}
	begin := lane.Now()
	if err := r.awaitAnswers(ctx, gen, l); err != nil {
		return err
	}
	cursor, err := r.startWindows(ctx, gen)
	if err != nil {
		return err
	}
	defer cursor.stop()
	l.WarmUp.Requests, l.WarmUp.Duration = cursor.discarded, time.Duration(cursor.windowStart-begin)
	untilStable := r.measureUntilAgreed
	if len(r.settings.StopWhen) > 0 {
		untilStable = r.measureUntilNarrow
	}
	measured, err := untilStable(ctx, cursor, l)
	if err != nil {
		r.noteErrors(cursor, cursor.windowErrors)
		return err
	}
	r.observe(LevelMeasured{})
	// The figures are computed while no load runs, so that they do not cost the client time that
	// it measures.
	gen.Pause()
	if l.Incomplete {
		if err := r.endInterrupted(ctx, gen, l); err != nil {
			return err
		}
	}
	if measured != nil {
		l.Summary = r.fullSummary(measured, l.Batch)
		l.Widths = r.widths(measured.samples, measured.from, measured.to())
		l.Detail.count(cursor, measured, percentiles(r.settings.Percentile))
		r.noteErrors(cursor, l.Errors)
	}
	return r.keepProfile(cursor, l)
}

// noteErrors names the last of n failed requests.
func (r *run) noteErrors(cursor *windowCursor, n uint64) {
	if n > 0 && cursor.lastError != nil {
		r.warn("%d requests failed, the last one with: %v", n, cursor.lastError)
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
	cursor, err := r.startWindows(ctx, gen)
	if err != nil {
		return err
	}
	defer cursor.stop()
	r.progress.window()
	// The observer may wait, as in startLoad, and the requests that count must not begin meanwhile.
	r.observe(LevelStarted{Batch: l.Batch, Load: l.Load})
	done := gen.Start(r.demand(l.Load, r.settings.RequestCount))
	if err := r.await(ctx, gen, done); err != nil {
		return err
	}
	if r.interrupted() {
		if err := r.endInterrupted(ctx, gen, l); err != nil {
			return err
		}
	}
	w, err := r.closeWindow(ctx, cursor)
	r.observe(LevelMeasured{})
	r.noteErrors(cursor, cursor.windowErrors)
	switch {
	case errors.Is(err, ErrNoRequests) && l.Incomplete:
		return nil
	case err != nil:
		return err
	}
	whole := *w // the detail shows the whole window; the figures count from the first start to the last end
	w.ns = w.span
	l.Trials, l.Stable = 1, true
	s := r.fullSummary(w, l.Batch)
	l.Detail.addWindow(cursor, &s, nil)
	l.Detail.count(cursor, &whole, percentiles(r.settings.Percentile))
	r.observe(WindowDone{Trial: 1, Summary: &s})
	l.Summary = s
	return r.keepProfile(cursor, l)
}

func (r *run) interrupted() bool {
	select {
	case <-r.deps.Interrupt:
		return true
	default:
		return false
	}
}
