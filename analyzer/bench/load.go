// A load is described by perf_analyzer's options, since perf_analyzer itself may be the generator: PerfAnalyzer runs it.
// `triton perf` in this process, which the command line supplies, parses the same options. Measurements are repeated
// with longer windows until they settle.

package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"triton/analyzer/trial"
)

// Figures are what a generator measured of one model.
type Figures struct {
	Values trial.Values
	GPUs   map[string]trial.Values // by UUID
	// Requests counts the answered requests; 0 if the generator does not report it.
	Requests   int
	Stable     bool
	Confidence map[trial.Metric]trial.Interval // of 95 %
}

// Outcome is the end of one model's load: Figures, or the reason why there are none.
type Outcome struct {
	Figures
	Err error
	// Unsettled: longer windows may give figures.
	Unsettled bool
	Output    string // of the generator, for the log of failed runs
}

// Generator puts load on models.
type Generator interface {
	// Run measures models at the same time, one for each set of options, and returns their
	// outcomes in this order. It returns soon after the context has ended.
	Run(ctx context.Context, models []LoadOptions) []Outcome
}

// Supervisor runs a generator for a trial.
type Supervisor struct {
	Generator Generator
	// Attempts is the highest number of runs, the first included.
	Attempts int
	// Timeout bounds one run.
	Timeout time.Duration
	// Failed receives the options and the output of each model whose last run failed; may be nil.
	Failed func(o LoadOptions, out Outcome)
}

// Windows of perf_analyzer's defaults, and by how much they grow.
const (
	firstCount, moreCount       = 50, 50
	firstInterval, moreInterval = 5000, 1000 // milliseconds
)

// ErrNoRequests reports that no run gave figures.
var ErrNoRequests = errors.New("no valid requests recorded")

// Measure runs the generator until all models have figures. Models whose windows are too short get
// longer ones.
func (s Supervisor) Measure(ctx context.Context, models []LoadOptions) ([]Figures, error) {
	current := make([]LoadOptions, len(models))
	for i, m := range models {
		current[i] = m.Clone()
	}
	for attempt := range s.Attempts {
		outcomes, err := s.run(ctx, current)
		if err != nil {
			return nil, err
		}
		figures := make([]Figures, len(outcomes))
		settled := true
		for i, out := range outcomes {
			figures[i] = out.Figures
			if out.Err == nil {
				continue
			}
			settled = false
			if s.Failed != nil && (!out.Unsettled || attempt == s.Attempts-1) {
				s.Failed(current[i], out)
			}
			if !out.Unsettled {
				return nil, fmt.Errorf("model %s: %w", current[i].Get("model-name"), out.Err)
			}
			lengthen(&current[i])
		}
		if settled {
			return figures, nil
		}
	}
	return nil, fmt.Errorf("Ran perf_analyzer %d times, but %w", s.Attempts, ErrNoRequests) //nolint:staticcheck // Model Analyzer's text
}

func (s Supervisor) run(ctx context.Context, models []LoadOptions) ([]Outcome, error) {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	outcomes := s.Generator.Run(limited, models)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("the load generator did not finish within %s and was stopped; --perf-analyzer-timeout allows longer runs", s.Timeout)
	}
	return outcomes, nil
}

// lengthen makes the measurement windows longer.
func lengthen(o *LoadOptions) {
	name, first, more := "measurement-interval", firstInterval, moreInterval
	if o.Get("measurement-mode") == "count_windows" {
		name, first, more = "measurement-request-count", firstCount, moreCount
	}
	n, err := strconv.Atoi(o.Get(name))
	if err != nil {
		n = first
	}
	o.Set(name, strconv.Itoa(n+more))
}
