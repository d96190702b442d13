package search

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// climbOf returns a climb over dimensions without upper limits.
func climbOf(dimensions, radius int, judge Judge) *climb {
	c := &climb{
		measurer: &measurer{Options: Options{Judge: judge}},
		data:     map[string]*trial.Measurement{},
		visited:  map[string]int{},
		steps:    stepsOf(dimensions, radius),
	}
	for range dimensions {
		c.dims = append(c.dims, dimension{last: unlimited})
	}
	return c
}

// within is the judge of a throughput of at least 100 and a latency of at most 300 ms.
func within(a float64, b float64) Judge {
	violation := func(m *trial.Measurement) float64 {
		v := m.Members[0]
		return max(0, (a-v[trial.Throughput])/a) + max(0, (v[trial.LatencyP99]-b)/b)
	}
	return Judge{
		Score:     byThroughput,
		Violation: violation,
		Passes:    func(m *trial.Measurement) bool { return violation(m) == 0 },
	}
}

func TestStepsOrder(t *testing.T) {
	t.Parallel()
	require.Equal(t, []coordinate{
		{0, 0}, {0, 1}, {0, -1}, {0, 2}, {0, -2}, {1, 0}, {-1, 0}, {-1, 1}, {-1, -1}, {1, -1}, {1, 1}, {2, 0}, {-2, 0},
	}, stepsOf(2, 2))
}

func TestNeighborhoodSizes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ dimensions, radius, at, all, inside int }{
		{3, 2, 1, 33, 30},
		{6, 3, 1, 9633, 2328},
		{2, 3, 0, 29, 11},
		{3, 3, 0, 123, 29},
	} {
		c := climbOf(tc.dimensions, tc.radius, Judge{})
		home := make(coordinate, tc.dimensions)
		for i := range home {
			home[i] = tc.at
		}
		if tc.dimensions != 6 {
			require.Equal(t, tc.all, len(c.steps))
		}
		require.Equal(t, tc.inside, len(c.around(home, false).all))
	}
}

func TestStartCornerIsLexicographic(t *testing.T) {
	t.Parallel()
	c := climbOf(2, 3, Judge{})
	require.Equal(t, []coordinate{
		{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 0}, {1, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}, {3, 0},
	}, c.around(coordinate{0, 0}, false).all)
}

func TestStepVector(t *testing.T) {
	t.Parallel()
	home := coordinate{1, 1, 1}
	c := climbOf(3, 3, within(100, 300))
	c.data[home.key()] = measured(100, 50)
	c.data[coordinate{2, 3, 1}.key()] = measured(300, 130)
	c.data[coordinate{1, 1, 2}.key()] = measured(400, 290)
	require.InDeltaSlice(t, []float64{1.0, 0.5, 1.2}, c.around(home, false).stepVector(), 1e-9)

	c = climbOf(3, 3, within(100, 300))
	c.data[home.key()] = measured(500, 450)
	c.data[coordinate{3, 2, 1}.key()] = measured(700, 360)
	c.data[coordinate{1, 2, 0}.key()] = measured(850, 540)
	require.InDeltaSlice(t, []float64{0.15, 0, 0.3}, c.around(home, false).stepVector(), 1e-9)

	c = climbOf(3, 3, within(1, 300))
	c.data[home.key()] = measured(100, 1)
	for _, at := range []coordinate{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}} {
		c.data[at.key()] = measured(100, 1)
	}
	require.Equal(t, []float64{0, 0, 0}, c.around(home, false).stepVector())
	require.Equal(t, home, c.around(home, true).newHome(), "a tie does not move")
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	for w, want := range map[float64]int{0: 0, 0.09: 0, 0.091: 1, 0.3: 1, 0.31: 2, 1: 2, 1.01: 3, 50: 3, -0.09: 0, -0.2: -1, -1: -2, -2: -3} {
		require.Equal(t, want, translate(w), w)
	}
}

func TestNewHome(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		x, y float64 // throughput of the neighbors (1,0) and (0,1), over that of the home
		want coordinate
	}{
		"threefold in one dimension": {3, 1, coordinate{2, 0}},
		"threefold in both":          {3, 3, coordinate{2, 2}},
		"sevenfold in both":          {7, 7, coordinate{3, 3}},
		"no change":                  {1, 1, coordinate{0, 0}},
	} {
		c := climbOf(2, 2, Judge{Score: byThroughput})
		c.data[coordinate{0, 0}.key()] = measured(1, 5)
		c.data[coordinate{1, 0}.key()] = measured(tc.x, 5)
		c.data[coordinate{0, 1}.key()] = measured(tc.y, 5)
		require.Equal(t, tc.want, c.around(coordinate{0, 0}, false).newHome(), name)
	}

	c := climbOf(2, 8, Judge{Score: byThroughput})
	c.dims = []dimension{{first: 2, last: 7}, {first: 2, last: 7}}
	c.data[coordinate{3, 6}.key()] = measured(1, 5)
	c.data[coordinate{2, 7}.key()] = measured(7, 5)
	require.Equal(t, coordinate{2, 7}, c.around(coordinate{3, 6}, false).newHome(), "the limits hold")
}

func TestPickOrder(t *testing.T) {
	t.Parallel()
	c := climbOf(2, 3, Judge{Score: byThroughput})
	home := coordinate{0, 0}
	c.data[home.key()] = measured(1, 1)
	var picks []coordinate
	for n := c.around(home, false); !n.enough(); {
		at, ok := n.pick()
		require.True(t, ok)
		picks = append(picks, at)
		c.data[at.key()] = measured(1, 1)
	}
	require.Equal(t, []coordinate{{0, 1}, {1, 0}, {2, 2}}, picks)

	// Neighbors without a result cover nothing; when all are measured, there is nothing to pick.
	for _, at := range c.around(home, false).all[1:] {
		c.data[at.key()] = nil
	}
	_, ok := c.around(home, false).pick()
	require.False(t, ok)
}

func TestAdjacent(t *testing.T) {
	t.Parallel()
	c := climbOf(3, 2, Judge{})
	c.dims[2] = dimension{first: 1, last: 4}
	n := c.around(coordinate{0, 1, 4}, true)
	require.Equal(t, []coordinate{{1, 1, 4}, {0, 0, 4}, {0, 2, 4}, {0, 1, 3}}, n.adjacent())
	for _, want := range n.adjacent() {
		require.False(t, n.enough())
		at, ok := n.pick()
		require.True(t, ok)
		require.Equal(t, want, at, "slow mode takes them in their order")
		c.data[at.key()] = nil
	}
	require.True(t, n.enough(), "failures count as measured")
}

func TestEnough(t *testing.T) {
	t.Parallel()
	c := climbOf(3, 2, Judge{Score: byThroughput})
	n := c.around(coordinate{1, 1, 1}, false)
	for _, step := range []struct {
		at     coordinate
		m      *trial.Measurement
		enough bool
	}{
		{coordinate{1, 1, 1}, measured(1, 1), false},
		{coordinate{0, 0, 0}, measured(1, 1), false},
		{coordinate{0, 0, 4}, measured(1, 1), false}, // outside the radius
		{coordinate{1, 0, 0}, measured(1, 1), false},
		{coordinate{0, 1, 1}, nil, false},
		{coordinate{1, 1, 0}, measured(1, 1), true},
	} {
		c.data[step.at.key()] = step.m
		require.Equal(t, step.enough, n.enough(), step.at)
	}
}

func TestSlowMode(t *testing.T) {
	t.Parallel()
	const pass, fail = 1.0, 1000.0
	for name, tc := range map[string]struct {
		home      float64
		neighbors []float64
		force     bool
		want      bool
	}{
		"home not measured":          {0, []float64{pass, fail}, false, false},
		"all pass":                   {pass, []float64{pass, pass}, false, false},
		"forced":                     {pass, []float64{pass, pass}, true, true},
		"home passes, one fails":     {pass, []float64{pass, fail}, false, true},
		"home passes, all fail":      {pass, []float64{fail, fail}, false, true},
		"all fail":                   {fail, []float64{fail, fail}, false, false},
		"home fails, one passes":     {fail, []float64{pass, fail}, false, true},
		"home fails, all pass":       {fail, []float64{pass, pass}, false, true},
		"home passes, none measured": {pass, nil, false, false},
	} {
		c := climbOf(2, 2, within(1, 300))
		home := coordinate{1, 1}
		if tc.home > 0 {
			c.data[home.key()] = measured(10, tc.home)
		}
		for i, p99 := range tc.neighbors {
			c.data[coordinate{1, 2 * i}.key()] = measured(10, p99)
		}
		require.Equal(t, tc.want, c.around(home, tc.force).slow(), name)
	}
}

func TestSlowHome(t *testing.T) {
	t.Parallel()
	c := climbOf(2, 2, within(1, 300))
	home := coordinate{1, 1}
	c.data[home.key()] = measured(100, 500)
	require.Equal(t, home, c.around(home, true).newHome(), "nothing passes")
	c.data[coordinate{0, 1}.key()] = measured(50, 100)
	c.data[coordinate{1, 0}.key()] = measured(60, 100)
	c.data[coordinate{2, 1}.key()] = measured(900, 900)
	require.Equal(t, coordinate{1, 0}, c.around(home, false).newHome())
	c.data[home.key()] = measured(70, 100)
	require.Equal(t, home, c.around(home, false).newHome(), "the home itself counts if it passes")
	require.Equal(t, coordinate{1, 3}, c.around(home, false).nearest(coordinate{1, 9}))
}

func TestDimensions(t *testing.T) {
	t.Parallel()
	s := Space{
		ModelBatch: Range{Min: 1, Max: 128, Soft: true},
		Instances:  Range{Min: 1, Max: 5, Soft: true},
	}
	m := Model{Name: "m", MaxBatch: 8}
	lists := func(counts ...int) Model {
		m := m
		for _, n := range counts {
			m.Patches = append(m.Patches, trial.Patch{"instance_group": []any{map[string]any{"count": n}}})
		}
		return m
	}
	values := func(d dimension) (out []int) {
		for i := d.first; i <= d.last; i++ {
			out = append(out, d.value(i))
		}
		return out
	}
	dims, err := dimensionsOf(s, m, false)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 4, 8, 16, 32, 64, 128}, values(dims[0]))
	require.Equal(t, []int{1, 2, 3, 4, 5}, values(dims[1]))

	unbounded := s
	unbounded.Unbounded = true
	dims, err = dimensionsOf(unbounded, m, false)
	require.NoError(t, err)
	require.Equal(t, unlimited, dims[0].last)
	require.Greater(t, dims[1].last, 1000)

	s.ModelBatch = Range{Min: 3, Max: 100}
	dims, err = dimensionsOf(s, Model{MaxBatch: 1}, false)
	require.NoError(t, err)
	require.Equal(t, []int{3, 4, 8, 16, 32, 64, 100}, values(dims[0]), "the user's limits are values too")

	for _, tc := range []struct{ list, want []int }{
		{[]int{1, 2, 4}, []int{1, 2, 4}},
		{[]int{16, 2}, []int{2, 4, 8, 16}},
		{[]int{4, 3, 2, 5}, []int{2, 3, 4, 5}},
		{[]int{3}, []int{3}},
	} {
		dims, err = dimensionsOf(s, lists(tc.list...), true)
		require.NoError(t, err)
		require.Equal(t, tc.want, values(dims[1]))
		dims, err = dimensionsOf(s, lists(tc.list...), false)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 3, 4, 5}, values(dims[1]), "of composing models only")
	}
	_, err = dimensionsOf(s, lists(1, 3, 4), true)
	require.ErrorContains(t, err, `model "m": instance count list [1 3 4] is not compatible with Quick search mode`)
}
