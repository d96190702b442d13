package search

import (
	"fmt"
	"slices"

	"triton/analyzer/trial"
)

// Judge decides between measurements.
type Judge struct {
	// Score is that of trial.Scorer: positive if a is better than b, the difference relative to the mean.
	Score func(a, b *trial.Measurement) float64
	// Passes reports whether a measurement meets all constraints; nil: there are none.
	Passes func(*trial.Measurement) bool
	// Violation returns by how much a measurement misses its constraints: 0 if it passes.
	Violation func(*trial.Measurement) float64
}

// measurer is what an algorithm works with: it asks for measurements and remembers them.
type measurer struct {
	Options
	known   map[string]*trial.Result
	results []*trial.Result // in the order of the measurements
	limits  []limit
	skipped int

	yield func(trial.Proposal) bool
	last  *trial.Result
}

// Measure returns the measurement of a proposal, nil if it failed. ok is false if the search has
// been stopped; the algorithm returns then.
func (t *measurer) Measure(p trial.Proposal) (m *trial.Measurement, ok bool) {
	r, ok := t.Run(p)
	return r.Measurement, ok
}

// Run returns the result of a proposal. ok is false if the search has been stopped.
func (t *measurer) Run(p trial.Proposal) (r *trial.Result, ok bool) {
	key := proposalKey(p)
	if r, found := t.known[key]; found {
		return r, true
	}
	if why := t.refuse(p); why != nil {
		t.skipped++
		r := &trial.Result{Proposal: p, Failure: &trial.Failure{Class: trial.MemoryLimit, Err: why}}
		t.known[key] = r
		return r, true
	}
	if !t.yield(p) {
		return &trial.Result{Proposal: p}, false
	}
	r = &trial.Result{}
	if t.last != nil {
		*r = *t.last
	}
	r.Proposal = p
	if r.Measurement == nil && r.Failure == nil {
		r.Failure = &trial.Failure{Class: trial.Other, Err: fmt.Errorf("the trial has no result")}
	}
	t.known[key] = r
	t.results = append(t.results, r)
	if r.Failure != nil && r.Failure.Class.Memory() {
		t.limits = append(t.limits, t.limitOf(r))
	}
	return r, true
}

// Open reports whether a proposal would be run: it has no result, and is not known not to fit.
func (t *measurer) Open(p trial.Proposal) bool {
	_, known := t.known[proposalKey(p)]
	return !known && t.refuse(p) == nil
}

// Results returns the results of the search so far, in their order.
func (t *measurer) Results() []*trial.Result { return t.results }

// Noticef passes on a log line.
func (t *measurer) Noticef(format string, args ...any) {
	if t.Notice != nil {
		t.Notice(fmt.Sprintf(format, args...))
	}
}

// loadName names the load that the search varies.
func (t *measurer) loadName() string {
	if t.Space.UseRequestRate {
		return "request rate"
	}
	return "concurrency"
}

// Passes reports whether a measurement meets all constraints.
func (t *measurer) Passes(m *trial.Measurement) bool {
	return m != nil && (t.Judge.Passes == nil || t.Judge.Passes(m))
}

// Violation returns by how much a measurement misses its constraints.
func (t *measurer) Violation(m *trial.Measurement) float64 {
	if t.Judge.Violation == nil {
		return 0
	}
	return t.Judge.Violation(m)
}

// Better reports whether a is a better choice than b, which may be nil: a measurement that meets
// the constraints is better than one that does not, then the smaller violation counts, then the
// objectives. It steers a search. Which configuration is recommended is decided by trial.Scorer.Rank,
// for which all that do not pass are alike but for the objectives.
func (t *measurer) Better(a, b *trial.Measurement) bool {
	switch {
	case a == nil || b == nil:
		return a != nil
	case t.Passes(a) != t.Passes(b):
		return t.Passes(a)
	case t.Passes(a):
		return t.Judge.Score(a, b) > 0
	}
	return t.Violation(a) < t.Violation(b)
}

// HighestScore returns the best measurement by the objectives alone, nil if there is none. It need not be
// the best by Better, which asks the constraints first.
func (t *measurer) HighestScore(list []*trial.Measurement) *trial.Measurement {
	var best *trial.Measurement
	for _, m := range list {
		if m != nil && (best == nil || t.Judge.Score(m, best) > 0) {
			best = m
		}
	}
	return best
}

// Top returns, for each of the n best configurations of the server, the best proposal; then the
// default configuration if it is not among them. If a configuration meets the constraints, those
// that do not are left out.
func (t *measurer) Top(n int) []trial.Proposal {
	best := map[string]*trial.Result{}
	var order []string
	for _, r := range t.results {
		if r.Measurement == nil {
			continue
		}
		key := serverKey(r.Proposal)
		old, found := best[key]
		if !found {
			order = append(order, key)
		}
		if !found || t.Better(r.Measurement, old.Measurement) {
			best[key] = r
		}
	}
	list := make([]*trial.Result, len(order))
	for i, key := range order {
		list[i] = best[key]
	}
	slices.SortStableFunc(list, func(a, b *trial.Result) int { return t.order(a.Measurement, b.Measurement) })
	if len(list) > 0 && t.Passes(list[0].Measurement) {
		list = slices.DeleteFunc(list, func(r *trial.Result) bool { return !t.Passes(r.Measurement) })
	}
	var top []trial.Proposal
	for _, r := range list[:min(n, len(list))] {
		top = append(top, r.Proposal)
	}
	for _, key := range order {
		p := best[key].Proposal
		if isDefault(p) && !slices.ContainsFunc(top, isDefault) {
			top = append(top, p)
		}
	}
	return top
}

// order puts the better measurement first.
func (t *measurer) order(a, b *trial.Measurement) int {
	switch {
	case t.Better(a, b):
		return -1
	case t.Better(b, a):
		return 1
	}
	return 0
}

// isDefault reports whether a proposal has the user's configuration of every model.
func isDefault(p trial.Proposal) bool {
	return !slices.ContainsFunc(p.Members, func(m trial.ProposedMember) bool {
		return len(m.Patch) > 0 ||
			slices.ContainsFunc(m.Composing, func(c trial.ProposedMember) bool { return len(c.Patch) > 0 })
	})
}
