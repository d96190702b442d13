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

// figures returns the goals with a figure for each: one without is for the throughput and for the
// latency that decides stability. It is called once the calls are known to be asynchronous or not.
func (c *Config) figures() []Goal {
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

// The intervals are computed after firstLook, and then each time that the level has become longer
// by the factor nextLook. They must be narrow twice in a row: an interval is narrow too early, by
// chance, the more often one looks (A. Law, W. D. Kelton, K. Koenig, Relative width sequential
// confidence intervals for the mean, Communications in Statistics B 10, 1981).
const (
	goalWindow = 500 * time.Millisecond
	firstLook  = time.Second
	nextLook   = 1.5
)

// goalTrial are the windows of a level with goals. Only the samples from the window first on
// count.
type goalTrial struct {
	windows []*window
	offsets []int // of the first sample of each window
	samples []measure.Sample
	first   int
	narrow  bool // the intervals were, when they were computed last
}

func (t *goalTrial) add(w *window) {
	t.windows, t.offsets = append(t.windows, w), append(t.offsets, len(t.samples))
	t.samples = append(t.samples, w.samples...)
	w.samples = nil
}

func (t *goalTrial) from() int64 { return t.windows[t.first].from }

func (t *goalTrial) to() int64 { return t.windows[len(t.windows)-1].to() }

func (t *goalTrial) steady() []measure.Sample { return t.samples[t.offsets[t.first]:] }

// measureGoals measures until the confidence intervals are as narrow as the goals. Windows only
// divide the level. It returns the level without the beginning that was not steady.
func (r *run) measureGoals(ctx context.Context, clock *levelClock, l *Level) (*window, error) {
	var t goalTrial
	begin, look := clock.windowStart, firstLook
	limit := r.settings.LevelLimit()
	length := min(goalWindow, limit)
	for elapsed := time.Duration(0); elapsed < limit && !l.Stable && !l.Incomplete; elapsed = time.Duration(clock.windowStart - begin) {
		if err := r.goalWindow(ctx, clock, l, &t, length); err != nil {
			return nil, err
		}
		if elapsed := time.Duration(clock.windowStart - begin); elapsed >= min(look, limit) {
			look = time.Duration(float64(elapsed) * nextLook)
			r.look(l, &t, elapsed >= limit)
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

// goalWindow measures one window.
func (r *run) goalWindow(ctx context.Context, clock *levelClock, l *Level, t *goalTrial, length time.Duration) error {
	r.progress.window()
	if err := r.pause(ctx, clock.gen, length); err != nil {
		if !errors.Is(err, errInterrupted) {
			return err
		}
		l.Incomplete = true
	}
	w, err := r.cut(ctx, clock)
	if err != nil {
		return err
	}
	l.Trials++
	if len(w.samples) > 0 { // without, its time still counts
		s, _ := r.glance(w, l.Batch)
		l.Detail.addWindow(clock, &s, nil)
		r.progress.done(&s, l)
		r.observe(WindowDone{Trial: l.Trials, Summary: &s})
	}
	t.add(w)
	return nil
}

// look finds the beginning of the steady state, computes the intervals and decides whether the
// level has been measured long enough. last says that its time is over.
func (r *run) look(l *Level, t *goalTrial, last bool) {
	var steady bool
	t.first, steady = t.transient()
	l.Widths = r.widths(t.steady(), t.from(), t.to())
	narrow := steady
	for _, w := range l.Widths {
		narrow = narrow && w.Is <= w.Width
	}
	l.Stable = narrow && (t.narrow || last)
	t.narrow = narrow
	if limit := r.settings.LatencyLimit; limit > 0 && steady {
		l.Stable = l.Stable || r.beyond(limit, t)
	}
	if r.settings.StopBelow > 0 && steady {
		l.Stable = l.Stable || r.below(r.settings.StopBelow, l.Batch, t)
	}
}

// below reports whether the throughput is less than the limit with confidence.
func (r *run) below(limit float64, batch int, t *goalTrial) bool {
	_, i := estimate(Goal{Figure: ThroughputFigure}, t.steady(), t.from(), t.to())
	return i.Known() && i.High*float64(max(batch, 1)) < limit
}

// beyond reports whether the latency is above the limit with confidence.
func (r *run) beyond(limit time.Duration, t *goalTrial) bool {
	_, i := estimate(Goal{Figure: r.settings.stabilityFigure()}, t.steady(), t.from(), t.to())
	return i.Known() && i.Low >= float64(limit)
}

// transient returns the first window of the steady state, and whether there is one. Throughput and
// latency must both be steady.
func (t *goalTrial) transient() (first int, steady bool) {
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
func (r *run) mergeGoals(l *Level, t *goalTrial) (*window, error) {
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
