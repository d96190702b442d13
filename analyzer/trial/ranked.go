package trial

import (
	"fmt"
	"slices"
	"sort"
)

// Ranked is the trials of one configuration of the server, under different loads.
type Ranked struct {
	Key string // names of the variants of all members and their composing models
	// Results have measurements and are sorted, the best first.
	Results []Result
	// Best is the result that stands for the variant: the best that satisfies the
	// constraints, or the best of all.
	Best    Result
	Passing bool // Best satisfies the constraints
}

// Default reports whether the variant is the user's own configuration.
func (v Ranked) Default() bool {
	for _, m := range v.Best.Config.Members {
		if !m.Default() {
			return false
		}
		for _, c := range m.Composing {
			if !c.Default() {
				return false
			}
		}
	}
	return true
}

// Rank groups results by variant and sorts the variants by their best results, the best first. Of
// equal ones the earlier is first. Results without measurements are left out. It decides what reports
// recommend: where nothing satisfies the constraints, they name the best that does not.
func (s Scorer) Rank(results []Result) []Ranked {
	var variants []Ranked
	index := map[string]int{}
	for _, r := range results {
		if r.Measurement == nil {
			continue
		}
		key := r.Config.Key()
		i, ok := index[key]
		if !ok {
			i = len(variants)
			index[key] = i
			variants = append(variants, Ranked{Key: key})
		}
		variants[i].Results = append(variants[i].Results, r)
	}
	for i := range variants {
		v := &variants[i]
		sort.SliceStable(v.Results, func(i, j int) bool { return s.order(v.Results[i], v.Results[j]) < 0 })
		v.Best = v.Results[0]
		for _, r := range v.Results {
			if s.Passes(r.Measurement) {
				v.Best, v.Passing = r, true
				break
			}
		}
	}
	sort.SliceStable(variants, func(i, j int) bool { return s.order(variants[i].Best, variants[j].Best) < 0 })
	return variants
}

// order puts the better result first.
func (s Scorer) order(a, b Result) int {
	switch score := s.Score(a.Measurement, b.Measurement); {
	case score > 0:
		return -1
	case score < 0:
		return 1
	}
	return 0
}

// TopRanked returns the n best variants of ranked ones, and warnings for the user. A negative n means
// all. Variants that violate constraints are left out unless all do. The default configuration is
// added at the end if it is not among the best.
func TopRanked(ranked []Ranked, n int) ([]Ranked, []string) {
	var warnings []string
	candidates := slices.DeleteFunc(slices.Clone(ranked), func(v Ranked) bool { return !v.Passing })
	asked := n
	if n < 0 {
		asked = len(ranked)
	}
	if len(candidates) == 0 && len(ranked) > 0 {
		warnings = append(warnings, fmt.Sprintf("Requested top %d configs, but none satisfied constraints. "+
			"Showing available constraint failing configs for this model.", asked))
		candidates = ranked
	}
	if n > len(candidates) {
		warnings = append(warnings, fmt.Sprintf("Requested top %d configs, but found only %d. "+
			"Showing all available configs for this model.", n, len(candidates)))
	}
	if n < 0 || n > len(candidates) {
		n = len(candidates)
	}
	top := slices.Clone(candidates[:n])
	if !slices.ContainsFunc(top, Ranked.Default) {
		if i := slices.IndexFunc(ranked, Ranked.Default); i >= 0 {
			top = append(top, ranked[i])
		}
	}
	return top, warnings
}
