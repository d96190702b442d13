// Which configuration to recommend: the best one if it beats the user's own beyond noise.

package trial

import (
	"maps"
	"math"
	"slices"
)

// BetterBeyondNoise reports whether a is better than b at the worse ends of a's 95 % confidence
// intervals and the better ends of b's: with one objective, whether a is better and the intervals do
// not overlap. Metrics without intervals are compared by their values. Intervals that do not overlap
// are stronger evidence than a test of the difference (Schenker and Gentleman, "On Judging the
// Significance of Differences by Examining the Overlap Between Confidence Intervals", 2001). The
// difference is needed: the best of many configurations is compared, and the intervals do not contain
// the variance between runs of a server.
func (s Scorer) BetterBeyondNoise(a, b *Measurement) bool {
	return s.Score(a.atEnd(false), b.atEnd(true)) > 0
}

// atEnd returns the measurement with the better or worse ends of its intervals in place of its
// values. The intervals are those of the first member.
func (m *Measurement) atEnd(better bool) *Measurement {
	if m == nil || len(m.Members) == 0 {
		return m
	}
	values := maps.Clone(m.Members[0])
	for tag, i := range m.Confidence {
		spec, err := FindMetric(tag)
		if _, measured := values[tag]; err != nil || !measured || math.IsNaN(i.Low) || math.IsNaN(i.High) {
			continue
		}
		values[tag] = i.Low
		if spec.Higher == better {
			values[tag] = i.High
		}
	}
	shifted := *m
	shifted.Members = slices.Clone(m.Members)
	shifted.Members[0] = values
	return &shifted
}

// Recommend returns the indexes of the configuration to serve and of the best one by its values, among
// the configurations that satisfy the constraints, or among all if none does. They differ if the best
// one is not better than the default configuration beyond noise: then the default is the one to serve.
// The configurations are sorted as Rank returns them, and at least one.
func (s Scorer) Recommend(ranked []Ranked) (serve, best int) {
	best = max(0, slices.IndexFunc(ranked, func(v Ranked) bool { return v.Passing }))
	own := slices.IndexFunc(ranked, func(v Ranked) bool { return v.Passing && v.Default() })
	if own >= 0 && !s.BetterBeyondNoise(ranked[best].Best.Measurement, ranked[own].Best.Measurement) {
		return own, best
	}
	return best, best
}
