package perf

import (
	"context"
	"math"
	"time"

	"triton/perf/load"
)

// search visits the levels of one batch size.
func (r *run) search(ctx context.Context, gen load.Generator, batch int) error {
	visit := func(v float64) (verdict, error) {
		level, err := r.level(ctx, gen, batch, Load{r.settings.Mode, v})
		switch {
		case err != nil || r.report.Interrupted || level.OverLimit:
			return fails, err
		case !level.Stable:
			r.report.Unstable = true
			return unknown, nil
		}
		return meets, nil
	}
	mode, values := r.settings.Mode, r.settings.Range
	switch {
	case mode == FixedSchedule:
		values = one(fixedRate)
	case mode == Periodic:
		values = one(values.End) // the load that it grows to
	case mode == Sessions:
		values = one(values.Start) // Range has one number
	case mode == Intervals:
		values = one(meanRate(r.settings.Intervals))
	case r.settings.Search == Binary:
		return binary(values, mode == Concurrency, visit)
	}
	return linear(values, visit)
}

// one returns the range of one level.
func one(v float64) Range { return Range{List: []float64{v}} }

// verdict says whether a level meets the latency limit.
type verdict uint8

const (
	fails   verdict = iota
	unknown         // the level did not become stable
	meets
)

// meanRate returns the requests per second of a list of intervals, rounded down to a whole
// number as in perf_analyzer.
func meanRate(intervals []time.Duration) float64 {
	var sum int64
	for _, d := range intervals {
		sum += int64(d)
	}
	return float64(int64(len(intervals)) * int64(time.Second) / sum)
}

// linear visits rising levels until one fails. A level that did not become stable ends only a
// sweep without an end.
func linear(c Range, visit func(float64) (verdict, error)) error {
	for _, v := range c.List {
		if is, err := visit(v); err != nil || is == fails {
			return err
		}
	}
	if len(c.List) > 0 {
		return nil
	}
	for v := c.Start; ; v += c.Step {
		is, err := visit(v)
		last := v+c.Step > c.End
		if c.End == 0 {
			last = is == unknown
		}
		if err != nil || is == fails || last || c.Step <= 0 {
			return err
		}
	}
}

// binary finds the highest level that meets the limit.
func binary(c Range, whole bool, visit func(float64) (verdict, error)) error {
	low, high := c.Start, c.End
	is, err := visit(low)
	if err != nil || is != meets {
		return err
	}
	if is, err = visit(high); err != nil || is == meets {
		return err
	}
	for high-low > c.Step && c.Step > 0 {
		mid := (low + high) / 2
		if whole {
			mid = math.Floor(mid)
		}
		if is, err = visit(mid); err != nil {
			return err
		}
		if is == meets {
			low = mid
		} else {
			high = mid
		}
	}
	return nil
}
