// The search by a tree-structured Parzen estimator, as Optuna's sampler does it: it
// models where good trials lie and where the others lie, and tries what is likely for the former
// and unlikely for the latter. For one seed and the same results it always proposes the same.

package search

import (
	"fmt"
	"math/rand/v2"

	"triton/analyzer/trial"
)

// TPEOptions configure the search.
type TPEOptions struct {
	Seed uint64
	// MinPercent and MaxPercent are shares of the space, MinTrials and MaxTrials numbers of
	// trials; numbers that are 0 are not set. If the user set both a share and a number, the
	// larger minimum and the smaller maximum count; a number alone replaces the share.
	MinPercent, MaxPercent       int
	MinPercentSet, MaxPercentSet bool
	MinTrials, MaxTrials         int
	// Patience is the number of trials without a new best one after which the search ends,
	// once it has made the minimum of trials.
	Patience int
	Formula  bool // the concurrency is two full batches for each instance
}

// trialLimits returns the least and the greatest number of trials.
func (o TPEOptions) trialLimits(size int) (least, most int) {
	least, most = size*o.MinPercent/100, size*o.MaxPercent/100
	if o.MinTrials > 0 {
		if o.MinPercentSet {
			least = max(least, o.MinTrials)
		} else {
			least = o.MinTrials
		}
	}
	if o.MaxTrials > 0 {
		if o.MaxPercentSet {
			most = min(most, o.MaxTrials)
		} else {
			most = o.MaxTrials
		}
	}
	return least, max(most, 1)
}

// tpeAlgorithm returns the search over a space, or an error if it cannot vary what the user lists.
func tpeAlgorithm(s Space, o TPEOptions) (algorithm, error) {
	parts, err := partsOf(s, o.Formula)
	if err != nil {
		return nil, err
	}
	return func(t *measurer) string {
		return (&tpeSearch{measurer: t, TPEOptions: o, parts: parts}).run()
	}, nil
}

type tpeSearch struct {
	*measurer
	TPEOptions
	parts []*part
}

func (s *tpeSearch) run() string {
	base, ok := s.Measure(s.defaults())
	switch {
	case !ok:
		return ""
	case base == nil:
		return "Default configuration did not return a measurement. Please check PA/Tritonserver log files."
	}
	sampler := &sampler{rand: rand.New(rand.NewPCG(s.Seed, s.Seed))}
	size := 1
	for _, d := range parametersOf(s.parts) {
		sampler.dims = append(sampler.dims, d)
		size = min(size*d.count(), 1<<30)
	}
	least, most := s.trialLimits(size)
	best, bestAt := 0.0, 0 // the default configuration scores 0
	for n := 1; n <= most; n++ {
		point := sampler.suggest()
		m, ok := s.Measure(s.proposal(point))
		if !ok {
			return ""
		}
		score := -1.0
		if m != nil {
			score = s.Judge.Score(m, base)
		}
		sampler.tell(point, score)
		if score > best {
			best, bestAt = score, n
		}
		if n >= least && n-bestAt >= s.Patience {
			return fmt.Sprintf("no better configuration in %d trials, after %d of a space of %d", n-bestAt, n, size)
		}
	}
	return fmt.Sprintf("the maximum of %d trials of a space of %d is reached", most, size)
}

// defaults returns the user's configuration of every model.
func (s *tpeSearch) defaults() trial.Proposal {
	var out trial.Proposal
	for _, p := range s.parts {
		load := s.Space.DefaultLoad(p.Model, p.Instances, p.MaxBatch)
		if load.RequestRate > 0 && p.Load == nil {
			// A rate that any server takes, so that the default configuration has a result.
			load.RequestRate = s.Space.RequestRate.Min
		}
		out.Members = append(out.Members, p.Default(load))
	}
	return out
}
