package search

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// The constants of Optuna's sampler.
const (
	startup    = 10 // random points before the estimator has enough to learn from
	candidates = 24 // drawn from the good points for each parameter
	newest     = 25 // observations with full weight; older ones count less
)

// scoredPoint is a point with its score; higher is better.
type scoredPoint struct {
	point []int
	score float64
}

// sampler suggests points.
type sampler struct {
	rand *rand.Rand
	dims []*parameter
	seen []scoredPoint
}

func (s *sampler) tell(point []int, score float64) {
	s.seen = append(s.seen, scoredPoint{point, score})
}

// suggest returns the next point: random at first, then for each parameter the most promising of
// some candidates.
func (s *sampler) suggest() []int {
	point := make([]int, len(s.dims))
	if len(s.seen) < startup {
		for i, d := range s.dims {
			point[i] = d.low + s.rand.IntN(d.count())
		}
		return point
	}
	good, rest := s.split()
	for i, d := range s.dims {
		likely, unlikely := d.estimate(column(good, i)), d.estimate(column(rest, i))
		top := math.Inf(-1)
		for range candidates {
			n := likely.draw(s.rand)
			if ratio := math.Log(likely.mass(n)) - math.Log(unlikely.mass(n)); ratio > top {
				top, point[i] = ratio, n
			}
		}
	}
	return point
}

// split returns the best tenth of the observations, at most 25, and the others, both by age.
func (s *sampler) split() (good, rest []scoredPoint) {
	n := min((len(s.seen)+9)/10, 25)
	order := make([]int, len(s.seen))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.seen[b].score, s.seen[a].score) })
	slices.Sort(order[:n])
	slices.Sort(order[n:])
	for i, at := range order {
		if i < n {
			good = append(good, s.seen[at])
		} else {
			rest = append(rest, s.seen[at])
		}
	}
	return good, rest
}

func column(list []scoredPoint, i int) []int {
	out := make([]int, len(list))
	for k, o := range list {
		out[k] = o.point[i]
	}
	return out
}

// weightsByAge returns the weights of n observations by age: the newest count fully.
func weightsByAge(n int) []float64 {
	w := make([]float64, n)
	old := n - newest
	for i := range w {
		w[i] = 1
		switch {
		case i < old && old > 1:
			w[i] = 1/float64(n) + (1-1/float64(n))*float64(i)/float64(old-1)
		case i < old:
			w[i] = 1 / float64(n)
		}
	}
	return w
}

// estimator is a density over the values of a parameter.
type estimator interface {
	draw(*rand.Rand) int
	mass(n int) float64
}

// estimate returns the density of observations, which is never zero.
func (d *parameter) estimate(seen []int) estimator {
	if d.list != nil {
		return newFrequencies(len(d.list), seen)
	}
	return newMixture(d, seen)
}

// frequencies is the density of a choice.
type frequencies []float64

func newFrequencies(n int, seen []int) frequencies {
	c := make(frequencies, n)
	total := 1.0
	for i := range c {
		c[i] = 1 / float64(n) // the prior
	}
	for i, w := range weightsByAge(len(seen)) {
		c[seen[i]] += w
		total += w
	}
	for i := range c {
		c[i] /= total
	}
	return c
}

func (c frequencies) mass(n int) float64 { return c[n] }

func (c frequencies) draw(r *rand.Rand) int { return pickWeighted(r, c) }

// pickWeighted returns an index with the probability of its weight. The weights sum to 1.
func pickWeighted(r *rand.Rand, weights []float64) int {
	u := r.Float64()
	for i, w := range weights {
		if u -= w; u < 0 {
			return i
		}
	}
	return len(weights) - 1
}

// mixture is the density of a number: a normal distribution around each observation, and a wide
// one as the prior, all cut off half a step beyond the limits.
type mixture struct {
	low, high    float64
	means, sigma []float64
	weights      []float64
}

func newMixture(d *parameter, seen []int) mixture {
	m := mixture{low: float64(d.low) - 0.5, high: float64(d.high) + 0.5}
	span := m.high - m.low
	m.means = append(m.means, (m.low+m.high)/2)
	for _, n := range seen {
		m.means = append(m.means, float64(n))
	}
	m.sigma = widths(m.means, span)
	m.sigma[0] = span
	m.weights = append([]float64{1}, weightsByAge(len(seen))...)
	total := 0.0
	for _, w := range m.weights {
		total += w
	}
	for i := range m.weights {
		m.weights[i] /= total
	}
	return m
}

// widths returns, for each mean, the larger distance to its neighbors within limits.
func widths(means []float64, span float64) []float64 {
	order := make([]int, len(means))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(means[a], means[b]) })
	least := span / float64(min(100, len(means)+1))
	out := make([]float64, len(means))
	for k, i := range order {
		var gap float64
		if k > 0 {
			gap = means[i] - means[order[k-1]]
		}
		if k+1 < len(order) {
			gap = max(gap, means[order[k+1]]-means[i])
		}
		out[i] = max(least, min(gap, span))
	}
	return out
}

func cumulative(x, mean, sigma float64) float64 {
	return 0.5 * math.Erfc((mean-x)/(sigma*math.Sqrt2))
}

// mass returns the probability of a number, which stands for the interval half a step around it.
func (m mixture) mass(n int) float64 {
	var p float64
	for i, mean := range m.means {
		inside := cumulative(m.high, mean, m.sigma[i]) - cumulative(m.low, mean, m.sigma[i])
		at := cumulative(float64(n)+0.5, mean, m.sigma[i]) - cumulative(float64(n)-0.5, mean, m.sigma[i])
		p += m.weights[i] * at / inside
	}
	return p
}

// draw returns a number. A kernel's mean lies within the limits, so at least half of one side of
// its distribution does; draws outside are repeated, and in the end cut off.
func (m mixture) draw(r *rand.Rand) int {
	i := pickWeighted(r, m.weights)
	x := m.means[i]
	for range 100 {
		if y := m.means[i] + m.sigma[i]*r.NormFloat64(); y > m.low && y < m.high {
			x = y
			break
		}
	}
	return int(math.Round(max(m.low+0.5, min(m.high-0.5, x))))
}
