package perf

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"triton/perf/load"
)

// point holds the figures of a window that decide stability.
type point struct {
	throughput float64
	latency    int64 // nanoseconds
}

// failedPoint is the point of a window that failed: it is never stable and exceeds every
// latency limit.
var failedPoint = point{0, math.MaxInt64}

// windowCount is how many consecutive windows must agree.
const windowCount = 3

// extremes returns the lowest and the highest figures of windows.
func extremes(windows []point) (low, high point) {
	low, high = windows[0], windows[0]
	for _, p := range windows {
		low.throughput, high.throughput = min(low.throughput, p.throughput), max(high.throughput, p.throughput)
		low.latency, high.latency = min(low.latency, p.latency), max(high.latency, p.latency)
	}
	return low, high
}

// stable reports whether the last windows agree within the threshold.
func stable(history []point, threshold float64, checkLatency bool) bool {
	if len(history) < windowCount {
		return false
	}
	low, high := extremes(history[len(history)-windowCount:])
	if low.throughput == 0 || high.throughput/low.throughput > 1+threshold {
		return false
	}
	return !checkLatency || float64(high.latency)/float64(low.latency) <= 1+threshold
}

// exceeded reports whether a recent window has reached the latency limit, so
// that the level cannot meet it. Limit 0 means no limit.
func exceeded(history []point, limitNs int64) bool {
	if limitNs == 0 || len(history) < windowCount {
		return false
	}
	_, high := extremes(history[len(history)-windowCount:])
	return high.latency >= limitNs
}

// spread returns how much the last windows differ, zeros before there are enough.
func spread(history []point) Spread {
	if len(history) < windowCount {
		return Spread{}
	}
	low, high := extremes(history[len(history)-windowCount:])
	return Spread{high.throughput/low.throughput - 1, float64(high.latency)/float64(low.latency) - 1}
}

// lastWindows holds the last windows of a level.
type lastWindows struct {
	history []point   // of all windows
	recent  []*window // the last three; nil where the window failed
	errs    []error
}

func (t *lastWindows) add(w *window, p point, err error) {
	t.history = append(t.history, p)
	t.recent, t.errs = append(t.recent, w), append(t.errs, err)
	if len(t.recent) > windowCount {
		t.recent, t.errs = t.recent[1:], t.errs[1:]
	}
}

// measureUntilAgreed measures until three windows agree, as perf_analyzer does, or three windows of a level
// whose repeats have to agree instead. It returns the last three windows, nil if none has requests.
func (r *run) measureUntilAgreed(ctx context.Context, cursor *windowCursor, l *Level) (*window, error) {
	var t lastWindows
	threshold, most := r.settings.Stability, r.settings.MaxTrials
	repeats := r.settings.repeatsDecide()
	if repeats {
		most = min(most, windowCount)
	}
	for l.Trials < most && !l.Stable && !l.Incomplete { // awaitAnswers may have set Incomplete
		if err := cursor.gen.Err(); err != nil {
			return nil, err
		}
		if err := r.addWindow(ctx, cursor, l, &t); err != nil {
			return nil, err
		}
		if l.Incomplete {
			break
		}
		l.Stable = stable(t.history, threshold, true)
		if exceeded(t.history, int64(r.settings.LatencyLimit)) {
			break // the level stays not stable if its windows do not agree
		}
	}
	l.Stable = l.Stable || repeats && !l.Incomplete
	// Asynchronous calls may end without a steady latency, but only after the last window.
	if r.settings.Async && !l.Stable && !l.Incomplete && stable(t.history, threshold, false) {
		r.notice("Warning: Request latency is not stabilizing. Please try lowering the request rate.")
		l.Stable = true
	}
	if err := cmp.Or(t.errs...); err != nil && !l.Incomplete {
		return nil, err
	}
	good := slices.DeleteFunc(t.recent, func(w *window) bool { return w == nil })
	if len(good) == 0 {
		return nil, nil
	}
	return merge(good), nil
}

// addWindow measures one window of a level.
func (r *run) addWindow(ctx context.Context, cursor *windowCursor, l *Level, t *lastWindows) error {
	r.progress.window()
	w, err := r.measureWindow(ctx, cursor)
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
		l.Detail.addWindow(cursor, nil, err)
		r.observe(WindowDone{Trial: l.Trials, Err: err})
		return nil
	}
	s, _ := r.quickSummary(w, l.Batch)
	r.warnOfOneRequest(&s)
	t.add(w, point{s.Throughput, int64(s.Stabilizing)}, nil)
	l.Detail.addWindow(cursor, &s, nil)
	l.Spread = spread(t.history)
	r.progress.done(&s, l)
	r.observe(WindowDone{Trial: l.Trials, Summary: &s})
	return nil
}
