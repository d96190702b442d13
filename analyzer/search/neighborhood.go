package search

import (
	"slices"

	"triton/analyzer/trial"
)

// minInitialized is the number of measured neighbors at which the home may move.
const minInitialized = 3

// radiusOf returns the radius of a neighborhood. It is that of Model Analyzer, unless the number of
// dimensions would make that neighborhood too large to enumerate.
func radiusOf(dimensions int) int {
	switch {
	case dimensions <= 8:
		return 3
	case dimensions <= 16:
		return 2
	}
	return 1
}

// thresholds are the weights of a step vector that move the home by 1, 2 and 3.
var thresholds = []float64{0.09, 0.3, 1.0}

// coordinate is a point of the space: one index for each dimension.
type coordinate []int

func (c coordinate) key() string {
	b := make([]byte, 0, 2*len(c))
	for _, v := range c {
		b = append(b, byte(v>>8), byte(v))
	}
	return string(b)
}

func (c coordinate) plus(v coordinate) coordinate {
	c = slices.Clone(c)
	for i := range v {
		c[i] += v[i]
	}
	return c
}

// distance returns the square of the Euclidean distance.
func (c coordinate) distance(o coordinate) int {
	sum := 0
	for i, v := range c {
		sum += (v - o[i]) * (v - o[i])
	}
	return sum
}

// stepsOf returns all vectors of at most a length, in the order in which Model Analyzer generates
// them: that order decides between equally good coordinates. The absolute vectors are in
// lexicographic order. The signs of one vector follow a reflected code: a component is negated in
// place and keeps its sign for what follows.
func stepsOf(dimensions, length int) []coordinate {
	var out []coordinate
	v := make(coordinate, dimensions)
	var signs func(i int)
	signs = func(i int) {
		next := func() {
			if i+1 == dimensions {
				out = append(out, slices.Clone(v))
			} else {
				signs(i + 1)
			}
		}
		next()
		if v[i] != 0 {
			v[i] = -v[i]
			next()
		}
	}
	origin := make(coordinate, dimensions)
	var walk func(i int)
	walk = func(i int) {
		for n := 0; n <= length; n++ {
			v[i] = n
			switch {
			case i < dimensions-1:
				walk(i + 1)
			case v.distance(origin) > length*length:
				return
			default:
				signs(0)
			}
		}
	}
	walk(0)
	return out
}

// neighborhood is what the climb knows around a home.
type neighborhood struct {
	*measurer
	dims  []dimension
	home  coordinate
	all   []coordinate // within the radius and the limits, the home included
	data  map[string]*trial.Measurement
	force bool
}

func (c *climb) around(home coordinate, forceSlow bool) *neighborhood {
	n := &neighborhood{measurer: c.measurer, dims: c.dims, home: home, data: c.data, force: forceSlow}
	for _, v := range c.steps {
		if at := home.plus(v); n.inside(at) {
			n.all = append(n.all, at)
		}
	}
	return n
}

func (n *neighborhood) inside(c coordinate) bool {
	for i, d := range n.dims {
		if c[i] < d.first || c[i] > d.last {
			return false
		}
	}
	return true
}

func (n *neighborhood) measured(c coordinate) bool {
	_, ok := n.data[c.key()]
	return ok
}

// neighbors returns the measured coordinates apart from the home.
func (n *neighborhood) neighbors() []coordinate {
	var out []coordinate
	for _, c := range n.all {
		if !slices.Equal(c, n.home) && n.data[c.key()] != nil {
			out = append(out, c)
		}
	}
	return out
}

// slow reports whether the boundary of the constraints runs through the neighborhood, or the climb
// has stepped back: then only the adjacent neighbors count.
func (n *neighborhood) slow() bool {
	if n.force {
		return true
	}
	home := n.data[n.home.key()]
	if home == nil {
		return false
	}
	passes := n.Passes(home)
	return slices.ContainsFunc(n.neighbors(), func(c coordinate) bool { return n.Passes(n.data[c.key()]) != passes })
}

// enough reports whether the home may move.
func (n *neighborhood) enough() bool {
	if n.slow() {
		return !slices.ContainsFunc(n.adjacent(), func(c coordinate) bool { return !n.measured(c) })
	}
	return len(n.neighbors()) >= minInitialized
}

// adjacent returns the neighbors one step down and up of each dimension.
func (n *neighborhood) adjacent() []coordinate {
	var out []coordinate
	for i := range n.dims {
		for _, by := range []int{-1, 1} {
			c := slices.Clone(n.home)
			c[i] += by
			if n.inside(c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// pick returns the coordinate to measure next: in slow mode the first adjacent one, otherwise the
// one with the most values that no measured neighbor has.
func (n *neighborhood) pick() (coordinate, bool) {
	if n.slow() {
		for _, c := range n.adjacent() {
			if !n.measured(c) {
				return c, true
			}
		}
		return nil, false
	}
	covered := make([]map[int]bool, len(n.dims))
	for i := range covered {
		covered[i] = map[int]bool{}
	}
	for _, c := range n.neighbors() {
		for i, v := range c {
			covered[i][v] = true
		}
	}
	var best coordinate
	most := -1
	for _, c := range n.all {
		if n.measured(c) {
			continue
		}
		fresh := 0
		for i, v := range c {
			if !covered[i][v] {
				fresh++
			}
		}
		if fresh > most {
			best, most = c, fresh
		}
	}
	return best, best != nil
}

// nearest returns the coordinate of the neighborhood that is nearest to c.
func (n *neighborhood) nearest(c coordinate) coordinate {
	best := n.home
	shortest := -1
	for _, at := range n.all {
		if d := at.distance(c); shortest < 0 || d < shortest {
			best, shortest = at, d
		}
	}
	return best
}

// newHome returns where the home moves: in slow mode to the best that meets the constraints,
// otherwise along the step vector.
func (n *neighborhood) newHome() coordinate {
	if n.slow() {
		return n.bestPassing()
	}
	to := slices.Clone(n.home)
	for i, w := range n.stepVector() {
		to[i] = max(n.dims[i].first, min(n.dims[i].last, to[i]+translate(w)))
	}
	return to
}

// bestPassing returns the best coordinate that meets the constraints, or the home if none does. Of
// equal ones it is the last in the order of the neighborhood, and the home before all others.
func (n *neighborhood) bestPassing() coordinate {
	best := n.home
	var top *trial.Measurement
	for _, c := range append(n.neighbors(), n.home) {
		if m := n.data[c.key()]; n.Passes(m) && (top == nil || n.Judge.Score(m, top) >= 0) {
			best, top = c, m
		}
	}
	return best
}

// translate returns by how many indices a weight moves the home.
func translate(w float64) int {
	by := 0
	for _, t := range thresholds {
		switch {
		case w > t:
			by++
		case w < -t:
			by--
		}
	}
	return by
}

// stepVector returns, for each dimension, the mean gain of the measured neighbors by index. Where
// the home misses the constraints, a gain is what a neighbor misses less.
func (n *neighborhood) stepVector() []float64 {
	home := n.data[n.home.key()]
	sum := make([]float64, len(n.dims))
	length := make([]float64, len(n.dims))
	for _, c := range n.neighbors() {
		w := n.weight(home, n.data[c.key()])
		for i, v := range c {
			switch v -= n.home[i]; {
			case v > 0:
				sum[i] += w
				length[i] += float64(v)
			case v < 0:
				sum[i] -= w
				length[i] -= float64(v)
			}
		}
	}
	for i := range sum {
		if length[i] > 0 {
			sum[i] /= length[i]
		}
	}
	return sum
}

func (n *neighborhood) weight(home, neighbor *trial.Measurement) float64 {
	switch {
	case home == nil:
		return 0
	case n.Passes(home):
		return n.Judge.Score(neighbor, home)
	case n.Passes(neighbor):
		return 0
	}
	return n.Violation(home) - n.Violation(neighbor)
}
