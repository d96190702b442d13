// The sweep measures one configuration of the server under rising loads, then looks for the
// highest load that meets the constraints.

package search

import (
	"slices"

	"triton/analyzer/trial"
)

// SweepOptions configure the sweep after another search.
type SweepOptions struct {
	Disable bool
	Steps   int // of the bisection
	Top     int // configurations to sweep, besides the default one
}

// sweepTop sweeps the best configurations of a search and the default one.
func sweepTop(t *measurer, o SweepOptions) {
	for _, p := range t.Top(o.Top) {
		if !fixedTimes(p) && !sweepLoad(t, p, o.Steps) {
			return
		}
	}
}

// fixedTimes reports whether the user fixed the times of the requests.
func fixedTimes(p trial.Proposal) bool {
	return slices.ContainsFunc(p.Members, func(m trial.ProposedMember) bool { return m.Load.Intervals != "" })
}

// sweepLoad sweeps the load of a proposal over the powers of two, and bisects at the highest load that
// meets the constraints. All models of the proposal get the same load.
func sweepLoad(t *measurer, base trial.Proposal, steps int) (ok bool) {
	var values []int
	var results []*trial.Measurement
	for _, v := range t.Space.Values().Powers() {
		if saturated(t, results) {
			t.Noticef("Terminating %s sweep - throughput is decreasing", t.loadName())
			break
		}
		m, ok := t.Measure(t.Space.WithLoad(base, v))
		if !ok {
			return false
		}
		values, results = append(values, v), append(results, m)
	}
	pass, fail, found := boundary(t, values, results)
	if !found {
		return true
	}
	for range steps {
		if fail-pass <= 1 {
			break
		}
		next := (pass + fail) / 2
		m, ok := t.Measure(t.Space.WithLoad(base, next))
		switch {
		case !ok:
			return false
		case t.Passes(m):
			pass = next
		default:
			fail = next
		}
	}
	return true
}

// saturated reports whether the newest results no longer gain. Where there is no first result to
// compare with, any result is a gain.
func saturated(t *measurer, results []*trial.Measurement) bool {
	if len(results) < minTries {
		return false
	}
	results = results[len(results)-minTries:]
	best := t.HighestScore(results)
	switch {
	case best == nil:
		return true
	case results[0] == nil:
		return false
	}
	return t.Judge.Score(best, results[0]) < minGain
}

// boundary returns the highest adjacent loads of which the lower one meets the constraints and the
// higher one does not. If even the lowest load fails, the loads below it are left, unless the user
// set the lower limit.
func boundary(t *measurer, values []int, results []*trial.Measurement) (pass, fail int, found bool) {
	for i := len(results) - 1; i > 0; i-- {
		if results[i] != nil && results[i-1] != nil && !t.Passes(results[i]) && t.Passes(results[i-1]) {
			return values[i-1], values[i], true
		}
	}
	if len(results) > 0 && results[0] != nil && !t.Passes(results[0]) && t.Space.Values().Soft {
		return 0, values[0], true
	}
	return 0, 0, false
}
