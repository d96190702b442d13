package search

import (
	"slices"

	"triton/analyzer/trial"
)

// Doubling returns Min and its doubles up to Max.
func (r Range) Doubling() []int {
	var list []int
	for n := max(r.Min, 1); n <= r.Max; n *= 2 {
		list = append(list, n)
	}
	return list
}

// Powers returns the powers of two from the one at or below Min to the one at or below Max.
// Below Min, Min takes the place of the power.
func (r Range) Powers() []int {
	var list []int
	for i := log2(r.Min); i <= log2(r.Max); i++ {
		list = append(list, max(1<<i, r.Min))
	}
	return list
}

// log2 returns the integer part of the binary logarithm of a positive number.
func log2(n int) int {
	i := 0
	for n > 1 {
		n /= 2
		i++
	}
	return i
}

// Loads returns the loads of a model as Model Analyzer's brute search walks them: for each size
// of requests, the load values in rising order.
func (s Space) Loads(m Model) [][]trial.Load {
	batches := ascending(m.Batches)
	if len(batches) == 0 {
		batches = []int{1}
	}
	var walks [][]trial.Load
	for _, batch := range batches {
		var walk []trial.Load
		switch {
		case m.Load != nil:
			load := *m.Load
			load.Batch = batch
			walk = append(walk, load)
		case m.Intervals != "":
			walk = append(walk, trial.Load{Batch: batch, Intervals: m.Intervals})
		default:
			for _, n := range s.values(m) {
				walk = append(walk, s.Load(batch, n))
			}
		}
		walks = append(walks, walk)
	}
	return walks
}

// values returns the values of the load axis of a model.
func (s Space) values(m Model) []int {
	list := m.Concurrency
	if s.UseRequestRate {
		list = m.RequestRates
	}
	switch {
	case len(list) > 0:
		return ascending(list)
	case s.Disabled:
		return []int{1}
	}
	return s.Values().Doubling()
}

// Load returns a load of the searched kind.
func (s Space) Load(batch, value int) trial.Load {
	if s.UseRequestRate {
		return trial.Load{Batch: batch, RequestRate: value}
	}
	return trial.Load{Batch: batch, Concurrency: value}
}

// WithLoad returns the proposal with another load value for all its models.
func (s Space) WithLoad(p trial.Proposal, value int) trial.Proposal {
	p.Members = slices.Clone(p.Members)
	for i := range p.Members {
		p.Members[i].Load = s.Load(max(p.Members[i].Load.Batch, 1), value)
	}
	return p
}

// ascending returns the distinct numbers of a list in rising order.
func ascending(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
