// What a search may vary: the models, their limits, and the loads.

package search

import (
	"fmt"
	"slices"

	"triton/analyzer/trial"
)

// Space is everything that a search may vary.
type Space struct {
	Models []Model // one, or all models that are profiled at the same time

	Concurrency, RequestRate, Instances, ModelBatch Range

	UseRequestRate bool // the load is a request rate instead of a concurrency
	Disabled       bool // only the listed values
	EarlyExit      bool // plateaus end walks over listed values too
	Unbounded      bool // quick search ignores soft limits
}

// Range limits a number.
type Range struct {
	Min, Max int
	// Soft reports that the limits are defaults, which the user did not set.
	Soft bool
}

// Clamp returns the nearest number within the range.
func (r Range) Clamp(n int) int { return max(r.Min, min(r.Max, n)) }

// Model is one model of a search.
type Model struct {
	Name string
	// MaxBatch and Instances are of the user's configuration. MaxBatch is 0 for a model
	// that does not batch, Instances counts the instances on all GPUs.
	MaxBatch  int
	Instances int
	Sequence  bool // has a sequence batcher, and thus no dynamic batcher
	CPUOnly   bool
	Ensemble  bool
	Composing []Model // of ensembles and BLS models
	// Patches are the combinations of the configuration parameters that the user lists;
	// nil if there are none.
	Patches []trial.Patch

	Batches      []int // rows of a request; empty: 1
	Concurrency  []int
	RequestRates []int
	Intervals    string      // file with the times between requests
	Load         *trial.Load // a load that the user fixed
}

// Batching reports whether the model batches.
func (m Model) Batching() bool { return m.MaxBatch > 0 }

// Validate returns what is wrong with the space.
func (s Space) Validate() error {
	if len(s.Models) == 0 {
		return fmt.Errorf("no model to search a configuration for")
	}
	for _, r := range []struct {
		name string
		Range
	}{
		{"concurrency", s.Concurrency},
		{"request rate", s.RequestRate},
		{"instance count", s.Instances},
		{"model batch size", s.ModelBatch},
	} {
		if r.Min < 1 || r.Max < r.Min {
			return fmt.Errorf("the limits of the %s, %d to %d, are not a range of positive numbers", r.name, r.Min, r.Max)
		}
	}
	for _, m := range s.Models {
		for _, list := range [][]int{m.Batches, m.Concurrency, m.RequestRates} {
			if i := slices.IndexFunc(list, func(n int) bool { return n < 1 }); i >= 0 {
				return fmt.Errorf("model %q: load %d is less than 1", m.Name, list[i])
			}
		}
	}
	return nil
}

// FixedLoad reports whether the user fixed the load of a model, or the times of its requests.
func (s Space) FixedLoad() bool {
	return slices.ContainsFunc(s.Models, func(m Model) bool { return m.Load != nil || m.Intervals != "" })
}

// Listed reports whether the user listed load values of a model.
func (s Space) Listed() bool {
	return slices.ContainsFunc(s.Models, func(m Model) bool { return len(m.Concurrency)+len(m.RequestRates) > 0 })
}

// Composing reports whether a model of the space is an ensemble or a BLS model.
func (s Space) Composing() bool {
	return slices.ContainsFunc(s.Models, func(m Model) bool { return m.Ensemble || len(m.Composing) > 0 })
}

// Values returns the range of the load values.
func (s Space) Values() Range {
	if s.UseRequestRate {
		return s.RequestRate
	}
	return s.Concurrency
}
