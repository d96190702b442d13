// The exhaustive search of Model Analyzer: every combination of instance count and
// largest batch, or of the values that the user lists, under every load. Walks end early where
// throughput no longer rises.

package search

import (
	"slices"

	"triton/analyzer/trial"
)

// bruteForce walks the whole space: first the user's configuration of all models, then every combination.
// With several models, the walk of the first one is the outermost.
func bruteForce(t *measurer) (reason string) {
	w := &walker{measurer: t, chosen: make([]trial.ProposedMember, len(t.Space.Models))}
	if _, ok := w.model(0, true); ok {
		w.model(0, false)
	}
	if t.Space.Disabled {
		return "all listed configurations are measured"
	}
	return "all configurations are measured, but those beyond a plateau of throughput"
}

type walker struct {
	*measurer
	chosen []trial.ProposedMember // of the models whose walks run
}

// model walks the variants and loads of a model, and below each those of the models after it. It
// returns all measurements, with nil for failures.
func (w *walker) model(i int, defaults bool) (all []*trial.Measurement, ok bool) {
	if i == len(w.chosen) {
		p := trial.Proposal{Members: append([]trial.ProposedMember(nil), w.chosen...)}
		m, ok := w.Measure(p)
		return []*trial.Measurement{m}, ok
	}
	for _, walk := range w.variants(i, defaults) {
		var peaks []float64
		for k, patch := range walk {
			results, ok := w.loads(i, patch, defaults)
			all = append(all, results...)
			if !ok {
				return all, false
			}
			peak, measured := peakOf(results)
			if measured {
				peaks = append(peaks, peak)
			}
			if w.earlyExit(i) && !measured {
				break
			}
			if w.earlyExit(i) && k < len(walk)-1 && !rising(peaks) {
				w.Noticef("No longer increasing max_batch_size because throughput has plateaued")
				break
			}
		}
	}
	return all, true
}

// earlyExit reports whether the walk over the largest batch may end early.
func (w *walker) earlyExit(i int) bool {
	return w.Space.EarlyExit || len(w.Space.Models[i].Patches) == 0
}

// variants returns the patches of a model: walks over the largest batch, one for each
// combination of everything else.
func (w *walker) variants(i int, defaults bool) [][]trial.Patch {
	m := w.Space.Models[i]
	switch {
	case defaults, len(m.Patches) == 0 && w.Space.Disabled:
		return [][]trial.Patch{{nil}}
	case len(m.Patches) > 0:
		return m.Walks()
	}
	sizes := []int{0}
	if m.Batching() {
		sizes = w.Space.ModelBatch.Doubling()
	}
	var walks [][]trial.Patch
	for count := w.Space.Instances.Min; count <= w.Space.Instances.Max; count++ {
		var walk []trial.Patch
		for _, size := range sizes {
			walk = append(walk, m.Patch(nil, count, size))
		}
		walks = append(walks, walk)
	}
	return walks
}

// loads walks the loads of a variant. A load without any measurement ends the whole walk.
func (w *walker) loads(i int, patch trial.Patch, defaults bool) (all []*trial.Measurement, ok bool) {
	m := w.Space.Models[i]
	early := w.Space.EarlyExit || len(m.Concurrency) == 0
	var sizes []*trial.Measurement // the best of each size of requests
	walks := w.Space.Loads(m)
	for n, walk := range walks {
		var values []*trial.Measurement // the best of each load value
		for k, load := range walk {
			w.chosen[i] = trial.ProposedMember{Model: m.Name, Patch: patch, Composing: m.Default(load).Composing, Load: load}
			results, ok := w.model(i+1, defaults)
			all = append(all, results...)
			if !ok {
				return all, false
			}
			best := w.HighestScore(results)
			if best == nil {
				return all, true
			}
			values = append(values, best)
			if early && k < len(walk)-1 && !gains(values) {
				w.Noticef("No longer increasing %s as throughput has plateaued", w.loadName())
				break
			}
		}
		sizes = append(sizes, w.HighestScore(values))
		if early && n < len(walks)-1 && !gains(sizes) {
			w.Noticef("No longer increasing client batch size as throughput has plateaued")
			break
		}
	}
	return all, true
}

var _ algorithm = bruteForce

// A plateau of the load axis: minGain over the first of the newest minTries results.
const (
	minTries = 4
	minGain  = 0.05
)

// gains reports whether the newest results are better than the first of them by the minimum gain.
func gains(list []*trial.Measurement) bool {
	if len(list) < minTries {
		return true
	}
	list = list[len(list)-minTries:]
	first := list[0].Throughput()
	best := first
	for _, m := range list {
		best = max(best, m.Throughput())
	}
	return best-first > minGain*first
}

// rising reports whether the newest peak is above all before it.
func rising(peaks []float64) bool {
	last := len(peaks) - 1
	return last < 1 || peaks[last] > slices.Max(peaks[:last])
}

// peakOf returns the highest throughput of the measurements.
func peakOf(list []*trial.Measurement) (peak float64, measured bool) {
	for _, m := range list {
		if m != nil {
			peak, measured = max(peak, m.Throughput()), true
		}
	}
	return peak, measured
}
