// The hill climb of Model Analyzer: it measures a few neighbors of a home in the
// space of instance counts and batch sizes, moves the home in the direction that gains, and ends
// where the home stays. The load follows the configuration: two full batches for each instance.

package search

import (
	"slices"

	"triton/analyzer/trial"
)

// visits is the number of times that a home may be chosen before the climb ends.
const visits = 2

// quickAlgorithm returns the climb over a space, or an error if it cannot vary what the user lists.
func quickAlgorithm(s Space) (algorithm, error) {
	parts, dims, err := climbPartsOf(s)
	if err != nil {
		return nil, err
	}
	return func(t *measurer) string {
		c := &climb{measurer: t, parts: parts, dims: dims, data: map[string]*trial.Measurement{}, visited: map[string]int{}}
		c.steps = stepsOf(len(dims), radiusOf(len(dims)))
		return c.run()
	}, nil
}

type climb struct {
	*measurer
	parts   []climbPart
	dims    []dimension
	steps   []coordinate
	data    map[string]*trial.Measurement // by coordinate; nil for failures
	visited map[string]int

	best       coordinate
	bestResult *trial.Measurement
	homePassed bool // once a home has met the constraints, no home may miss them
}

func (c *climb) run() string {
	home := make(coordinate, len(c.dims))
	for i, d := range c.dims {
		home[i] = d.first
	}
	c.best = home
	at := home
	n := c.around(home, false)
	if ok := c.measureAt(c.defaults(), at, home); !ok {
		return ""
	}
	c.noteLimits()
	for {
		if ok := c.measureAt(c.proposal(at), at, home); !ok {
			return ""
		}
		switch {
		case slices.Equal(at, home) && c.stepBack(home):
			to := n.nearest(c.best)
			if slices.Equal(to, home) {
				return "no neighbor of the last configuration is nearer to the best one"
			}
			home, at = to, to
			n = c.around(home, true)
			c.visited[home.key()]++
		case n.enough():
			to := n.newHome()
			if slices.Equal(to, home) {
				return "no neighbor of the best configuration promises a gain"
			}
			if c.visited[to.key()] >= visits {
				return "the climb moves in a circle"
			}
			home, at = to, to
			n = c.around(home, false)
			c.visited[home.key()]++
		default:
			next, ok := n.pick()
			if !ok {
				return "all neighbors of the best configuration are measured"
			}
			at = next
		}
	}
}

// stepBack reports whether the climb leaves a home: because it failed, or misses the constraints
// although a home before it met them.
func (c *climb) stepBack(home coordinate) bool {
	m := c.data[home.key()]
	return m == nil || c.homePassed && !c.Passes(m)
}

// measureAt stores the measurement of a proposal at a coordinate.
func (c *climb) measureAt(p trial.Proposal, at, home coordinate) (ok bool) {
	m, ok := c.Measure(p)
	if !ok {
		return false
	}
	c.data[at.key()] = m
	if m != nil && slices.Equal(at, home) && c.Passes(m) {
		c.homePassed = true
	}
	if c.Better(m, c.bestResult) {
		c.best, c.bestResult = at, m
	}
	return true
}

// noteLimits tells the user of limits that are defaults, since Model Analyzer ignores those.
func (c *climb) noteLimits() {
	if c.Space.Unbounded {
		return
	}
	for _, r := range []struct {
		name string
		Range
	}{{"max_batch_size", c.Space.ModelBatch}, {"the instance count", c.Space.Instances}, {"the load", c.Space.Values()}} {
		if r.Soft {
			c.Noticef("Quick search: the default limits of %s are %d to %d", r.name, r.Min, r.Max)
		}
	}
}
