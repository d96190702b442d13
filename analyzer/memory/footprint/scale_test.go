package footprint

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScale checks that noise does not show as digits: counts of analyses that differ by it are mostly
// the same.
func TestScale(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{
		0: 0, 1: 1, 6: 6, 7: 6, 9: 8, 11: 10, 14: 12, 44: 40, 48: 40, 50: 50, 99: 80, 100: 100, 119: 100, 122: 120, 124: 120,
		799: 600, 800: 800, 999: 800, 1000: 1000, 7473: 6000, 128944: 120000,
	} {
		require.Equal(t, want, onScale(n), n)
	}
	require.Equal(t, 8*int(1e18), onScale(math.MaxInt))
	require.Zero(t, onScale(math.MinInt))
	last := 0
	for n := range 20000 {
		got := onScale(n)
		require.LessOrEqual(t, got, n)
		require.GreaterOrEqual(t, got, last)
		require.GreaterOrEqual(t, 4*got, 3*n-4, "%d: a step is at most a third", n)
		require.Equal(t, got, onScale(got))
		last = got
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
