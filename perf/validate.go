package perf

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

func (c *Config) validate() error {
	for _, g := range c.StopWhen {
		if err := g.Validate(); err != nil {
			return fmt.Errorf("perf: %w", err)
		}
	}
	switch {
	case c.Model == "":
		return errors.New("perf: no model is named")
	case len(c.Batches) == 0 || slices.Min(c.Batches) < 1:
		return errors.New("perf: batch sizes must be > 0")
	case c.MaxTrials < 1, c.Interval <= 0, c.Samples < 1, c.Stability < 0:
		return errors.New("perf: trials, interval and samples must be > 0, stability must be >= 0")
	case c.Mode == Intervals && (len(c.Intervals) == 0 || slices.Min(c.Intervals) < 0 || slices.Max(c.Intervals) == 0):
		return errors.New("perf: intervals must be >= 0 and not all 0")
	case c.Mode == FixedSchedule && (c.RequestCount != 0 || slices.Max(c.Batches) > 1):
		return errors.New("perf: the data of a fixed schedule decides the number of requests, each with one step")
	case c.StopBelow > 0 && len(c.StopWhen) == 0:
		return errors.New("perf: StopBelow needs a goal in StopWhen")
	case len(c.StopWhen) > 0 && (c.RequestCount > 0 || c.Mode.Once()):
		return errors.New("perf: goals and a number of requests both say when a level ends")
	case c.Repeats < 0 || c.Repeats > longestPlan:
		return fmt.Errorf("perf: the number of repeats must be from 1 to %d", longestPlan)
	case c.Repeats > 1 && c.Mode.Once():
		return errors.New("perf: requests that are sent once are not repeated")
	case c.Repeats > 1 && c.Mode.sweeps() && (c.Search == Binary || c.Range.Highest() == 0):
		return errors.New("perf: repeats need a linear sweep with an end: the results decide the levels of others")
	case c.OutputMemory < 0:
		return errors.New("perf: the size of shared memory must be >= 0")
	case (c.Mode == Periodic || c.Mode == Sessions) && (c.Range.Start < 1 || slices.Max(c.Batches) > 1 || c.WarmupCount != 0):
		return errors.New("perf: requests that are sent once start with at least one, have batch size 1 and no warm-up")
	case c.Mode == Periodic && (c.Range.End < c.Range.Start || c.Range.Step < 1 || c.Period < 1 || !c.Streaming):
		return errors.New("perf: groups of requests have a rising range, at least one request and one response, and streams")
	case !(c.Speed >= 0 && c.Speed < 1e9):
		return errors.New("perf: the speed of a fixed schedule must be > 0")
	case c.Sequences.IDCount == 0 || c.Sequences.Slots < 1:
		return errors.New("perf: there must be at least one sequence and one sequence ID")
	case c.Mode.sweeps():
		return c.Range.validate(c.Mode, c.LatencyLimit)
	}
	return nil
}

// sweeps reports whether a mode has several levels.
func (m Mode) sweeps() bool { return m == Concurrency || m == RequestRate }

// Errors of a Config, in perf_analyzer's words. The command line reports them too.
var (
	ErrRangeStart  = errors.New("The start of the search range must be > 0")
	ErrRangeEnd    = errors.New("The end of the search range and the latency limit can not be both 0 (or 0.0) simultaneously")
	ErrWarmupCount = errors.New("The warmup request count must be less than the total number of payloads in the dataset.")
	ErrSessions    = errors.New("Session concurrency mode is only supported with OpenAI service kind.")
)

func (r Range) validate(m Mode, limit time.Duration) error {
	lowest := 0.0
	if m == Concurrency {
		lowest = 1
	}
	good := func(v float64) bool { return v > 0 && v >= lowest }
	switch {
	case len(r.List) > 0:
		if !good(slices.Min(r.List)) {
			return ErrRangeStart
		}
	case !good(r.Start):
		return ErrRangeStart
	case !good(r.Step) && r.End > r.Start:
		return errors.New("The step of the search range must be > 0")
	case r.End == 0 && limit == 0:
		return ErrRangeEnd
	}
	return nil
}

// EndGiven reports whether the range is not that of DefaultConfig: whether its end is given.
func (r Range) EndGiven() bool { return len(r.List) > 0 || r.End != 1 }

// Highest returns the highest level, 0 if the latency limit ends the sweep.
func (r Range) Highest() float64 {
	switch {
	case len(r.List) > 0:
		return slices.Max(r.List)
	case r.End == 0:
		return 0
	}
	return max(r.Start, r.End)
}
