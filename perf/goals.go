package perf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"triton/pkg/measure"
)

// The figures of goals, beside percentiles such as p99.
const (
	ThroughputFigure = "throughput"
	AverageFigure    = "avg"
)

// Goal is the width that the confidence interval of a figure has at most: 0.02 for ±2 %.
type Goal struct {
	// Figure is throughput, avg, or a percentile such as p99. Empty means those that decide
	// stability.
	Figure string
	Width  float64
}

// Width is how wide an interval is now; +Inf if it is not known.
type Width struct {
	Goal
	Is float64
}

// percentile returns the percentile of the figure.
func (g Goal) percentile() (p float64, ok bool) {
	text, ok := strings.CutPrefix(g.Figure, "p")
	if !ok {
		return 0, false
	}
	p, err := strconv.ParseFloat(text, 64)
	return p, err == nil && p > 0 && p < 100
}

// Validate reports a figure or a width that is not possible.
func (g Goal) Validate() error {
	_, isPercentile := g.percentile()
	switch {
	case g.Figure != "" && g.Figure != ThroughputFigure && g.Figure != AverageFigure && !isPercentile:
		return fmt.Errorf("%q is no figure; the figures are throughput, avg and percentiles such as p99", g.Figure)
	case !(g.Width > 0 && g.Width < 1):
		return fmt.Errorf("the width of an interval must be more than 0 %% and less than 100 %%, not %g %%", 100*g.Width)
	}
	return nil
}

// goalsWithFigures returns the goals with a figure for each: one without is for the throughput and for the
// latency that decides stability. checkModel must have decided Async.
func (c *Config) goalsWithFigures() []Goal {
	var goals []Goal
	for _, g := range c.StopWhen {
		if g.Figure != "" {
			goals = append(goals, g)
			continue
		}
		goals = append(goals, Goal{Figure: ThroughputFigure, Width: g.Width})
		if !c.Async {
			goals = append(goals, Goal{Figure: c.stabilityFigure(), Width: g.Width})
		}
	}
	return goals
}

// stabilityFigure is the latency that decides stability.
func (c *Config) stabilityFigure() string {
	if c.Percentile > 0 {
		return "p" + strconv.FormatFloat(c.Percentile, 'g', -1, 64)
	}
	return AverageFigure
}

// The intervals are computed after firstEvaluation, and then each time that the level has become longer
// by evaluationFactor. They must be narrow twice in a row: an interval is narrow too early, by
// chance, the more often it is computed (A. Law, W. D. Kelton, K. Koenig, Relative width sequential
// confidence intervals for the mean, Communications in Statistics B 10, 1981).
const (
	goalWindowLength = 500 * time.Millisecond
	firstEvaluation  = time.Second
	evaluationFactor = 1.5
)

// goalWindows holds the windows of a level with goals. Only the samples from the window first on
// count.
type goalWindows struct {
	windows []*window
	offsets []int // of the first sample of each window
	samples []measure.Sample
	first   int
	narrow  bool // the intervals were, when they were computed last
}

func (t *goalWindows) add(w *window) {
	t.windows, t.offsets = append(t.windows, w), append(t.offsets, len(t.samples))
	t.samples = append(t.samples, w.samples...)
	w.samples = nil
}

func (t *goalWindows) from() int64 { return t.windows[t.first].from }

func (t *goalWindows) to() int64 { return t.windows[len(t.windows)-1].to() }

func (t *goalWindows) steady() []measure.Sample { return t.samples[t.offsets[t.first]:] }

// measureUntilNarrow measures until the confidence intervals are as narrow as the goals. Windows only
// divide the level. It returns the level without the beginning that was not steady.
func (r *run) measureUntilNarrow(ctx context.Context, cursor *windowCursor, l *Level) (*window, error) {
	var t goalWindows
	begin, next := cursor.windowStart, firstEvaluation
	limit := r.settings.LevelLimit()
	length := min(goalWindowLength, limit)
	for elapsed := time.Duration(0); elapsed < limit && !l.Stable && !l.Incomplete; elapsed = time.Duration(cursor.windowStart - begin) {
		if err := r.addGoalWindow(ctx, cursor, l, &t, length); err != nil {
			return nil, err
		}
		if elapsed := time.Duration(cursor.windowStart - begin); elapsed >= min(next, limit) {
			next = time.Duration(float64(elapsed) * evaluationFactor)
			r.evaluateGoals(l, &t, elapsed >= limit)
			r.progress.widths(l)
		}
	}
	if len(t.samples) == 0 {
		if l.Incomplete {
			return nil, nil
		}
		return nil, ErrNoRequests
	}
	return r.mergeGoals(l, &t)
}

// addGoalWindow measures one window of a level with goals.
func (r *run) addGoalWindow(ctx context.Context, cursor *windowCursor, l *Level, t *goalWindows, length time.Duration) error {
	r.progress.window()
	if err := r.sleepUnderLoad(ctx, cursor.gen, length); err != nil {
		if !errors.Is(err, errInterrupted) {
			return err
		}
		l.Incomplete = true
	}
	w, err := r.collectWindow(ctx, cursor)
	if err != nil {
		return err
	}
	l.Trials++
	if len(w.samples) > 0 { // without, its time still counts
		s, _ := r.quickSummary(w, l.Batch)
		l.Detail.addWindow(cursor, &s, nil)
		r.progress.done(&s, l)
		r.observe(WindowDone{Trial: l.Trials, Summary: &s})
	}
	t.add(w)
	return nil
}

// evaluateGoals finds the beginning of the steady state, computes the intervals and decides whether the
// level has been measured long enough. last says that its time is over.
func (r *run) evaluateGoals(l *Level, t *goalWindows, last bool) {
	var steady bool
	t.first, steady = t.steadyStart()
	l.Widths = r.widths(t.steady(), t.from(), t.to())
	narrow := steady
	for _, w := range l.Widths {
		narrow = narrow && w.Is <= w.Width
	}
	l.Stable = narrow && (t.narrow || last)
	t.narrow = narrow
	// A level that is surely too slow is measured enough, however wide its intervals are.
	if limit := r.settings.LatencyLimit; limit > 0 && steady {
		l.Stable = l.Stable || r.latencyAbove(limit, t)
	}
	if r.settings.StopBelow > 0 && steady {
		l.Stable = l.Stable || r.slowerThan(r.settings.StopBelow, l.Batch, t)
	}
}

// slowerThan reports whether the throughput is less than the limit with confidence.
func (r *run) slowerThan(limit float64, batch int, t *goalWindows) bool {
	_, i := estimate(Goal{Figure: ThroughputFigure}, t.steady(), t.from(), t.to())
	return i.Known() && i.High*float64(max(batch, 1)) < limit
}

// latencyAbove reports whether the latency is above the limit with confidence.
func (r *run) latencyAbove(limit time.Duration, t *goalWindows) bool {
	_, i := estimate(Goal{Figure: r.settings.stabilityFigure()}, t.steady(), t.from(), t.to())
	return i.Known() && i.Low >= float64(limit)
}

// steadyStart returns the first window of the steady state, and whether there is one. Throughput and
// latency must both be steady.
func (t *goalWindows) steadyStart() (first int, steady bool) {
	from, to := t.windows[0].from, t.to()
	// Slices of at least five requests on average.
	n := min(200, len(t.samples)/5)
	if n == 0 {
		return 0, true
	}
	counts, sums := make([]float64, n), make([]float64, n)
	for i := range t.samples {
		s := &t.samples[i]
		k := min(int(float64(s.End-from)/float64(to-from)*float64(n)), n-1)
		counts[k]++
		sums[k] += float64(s.Latency)
	}
	for i := range sums {
		switch {
		case counts[i] > 0:
			sums[i] /= counts[i]
		case i > 0:
			sums[i] = sums[i-1]
		}
	}
	a, okA := measure.Steady(counts)
	b, okB := measure.Steady(sums)
	at := from + int64(float64(max(a, b))/float64(n)*float64(to-from))
	for first < len(t.windows)-1 && t.windows[first].from < at {
		first++
	}
	return first, okA && okB
}

// mergeGoals returns the steady part of the level as one window.
func (r *run) mergeGoals(l *Level, t *goalWindows) (*window, error) {
	for _, w := range t.windows[:t.first] {
		l.WarmUp.Duration += time.Duration(w.ns)
	}
	l.WarmUp.Requests += t.offsets[t.first]
	w := merge(t.windows[t.first:])
	w.samples = t.steady()
	if len(w.samples) == 0 {
		return nil, ErrNoRequests
	}
	return w, r.setServer(w)
}

// widths returns how wide the intervals of the goals are.
func (r *run) widths(samples []measure.Sample, from, to int64) []Width {
	var all []Width
	for _, g := range r.settings.StopWhen {
		value, i := estimate(g, samples, from, to)
		all = append(all, Width{g, i.Width(value)})
	}
	return all
}

// estimate computes the figure of a goal and its interval, in time that is proportional to the
// number of samples.
func estimate(g Goal, samples []measure.Sample, from, to int64) (float64, Interval) {
	batches := measure.DivideBatches(samples, from, to)
	n := float64(len(samples))
	if len(samples) == 0 {
		return 0, Interval{}
	}
	if g.Figure == ThroughputFigure {
		rate := n / (float64(to-from) / 1e9)
		return rate, around(rate, batches.Count().Half/n)
	}
	if p, ok := g.percentile(); ok {
		latencies := make([]int64, len(samples))
		for i := range samples {
			latencies[i] = samples[i].Latency
		}
		q := quantiles{samples: samples, batches: &batches, at: func(rank int) int64 { return measure.Nth(latencies, rank) }}
		for _, below := range percentiles(0) {
			if below < p {
				// For the inflation, which a percentile inherits from those below it.
				q.percentile(below, measure.PercentileOf(latencies, below))
			}
		}
		is := q.percentile(p, measure.PercentileOf(latencies, p))
		return float64(is.Latency), is.Interval
	}
	sum := 0.0
	for i := range samples {
		sum += float64(samples[i].Latency)
	}
	mean := sum / n
	return mean, around(mean, batches.Mean(samples, latencyOfSample).Half/mean)
}

// widthsText describes intervals for people.
func widthsText(widths []Width) string {
	var all []string
	for _, w := range widths {
		is := "not known: the requests are too few or too varied"
		if !math.IsInf(w.Is, 1) {
			is = fmt.Sprintf("±%.2g %%", 100*w.Is)
		}
		all = append(all, fmt.Sprintf("the interval of %s is %s, and ±%.3g %% is wanted", w.Figure, is, 100*w.Width))
	}
	return strings.Join(all, "; ")
}

// LevelLimit returns the time after which a level with goals ends in any case.
func (c *Config) LevelLimit() time.Duration {
	return time.Duration(c.MaxTrials) * windowLength(c.Interval)
}
