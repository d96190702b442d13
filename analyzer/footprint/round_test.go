package footprint

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRoundDown checks that noise does not show as digits: counts of analyses that differ by it are
// the same.
func TestRoundDown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n           int
		uncertainty float64
		want        int
	}{
		{7, 0, 7},
		{122, 0.5, 122},
		{124, 3, 120},
		{122, 4.5, 120},
		{225, 21, 200},
		{225, 18, 220},
		{7473, 900, 7000},
		{3, 50, 3},
		{0, 5, 0},
		{12, 100, 12},
		{128944, 40000, 120000},
	} {
		require.Equal(t, c.want, roundDown(c.n, c.uncertainty), "%+v", c)
	}
}

// TestBaseThatWasReadTooHigh checks that without a law an instance is not taken for cheaper than it is,
// if the server without models had more memory than one with the model.
func TestBaseThatWasReadTooHigh(t *testing.T) {
	t.Parallel()
	r := &run{result: &Result{
		Base: Reading{Host: 41},
		Anchors: []Anchor{
			{Instances: 1, Loaded: Reading{Host: 16}, Peak: Reading{Host: 46}},
			{Instances: 2, Loaded: Reading{Host: 20}, Peak: Reading{Host: 84}},
		},
	}}
	require.InDelta(t, 16, r.smallestBase(Host), 0)
	require.InDelta(t, 84+34*2, r.upper(Limit{Place: Host}, 4), 0, "(84 - 16) / 2 each, and not (84 - 41) / 2")
}
