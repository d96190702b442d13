package footprint_test

import (
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/footprint"
)

func points(pairs ...float64) []footprint.LawPoint {
	var all []footprint.LawPoint
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, footprint.LawPoint{Instances: int(pairs[i]), Bytes: pairs[i+1] * mib})
	}
	return all
}

// TestTwoPointsAreNoLaw checks that a line through two counts is not shown as exact.
func TestTwoPointsAreNoLaw(t *testing.T) {
	t.Parallel()
	for _, p := range [][]footprint.LawPoint{nil, points(1, 10), points(1, 10, 2, 20), points(1, 10, 2, 20, 2, 20), points(1, 10, 2, 20, 3, 30)} {
		_, err := footprint.FitLaw(p)
		require.ErrorIs(t, err, footprint.ErrTooFew)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	l, err := footprint.FitLaw(points(1, 1900, 3, 4080, 2, 2980, 1, 1900))
	require.NoError(t, err)
	require.InDelta(t, 1090*mib, l.PerInstance.Value, 1*mib)
	require.InDelta(t, 1100*mib, l.SafePerInstance, 1)
	require.InDelta(t, 800*mib, l.SafeBase, 1)
	require.Positive(t, l.Residual, "three counts show that they are not on a line")
	require.Positive(t, l.Noise)
	require.Less(t, l.PerInstance.Low, l.PerInstance.Value)
	require.Greater(t, l.PerInstance.High, l.PerInstance.Value)
	require.False(t, l.SuperLinear)
	// 40366 usable, 2018 of it kept free: the safe line gives 34. What the noise allows at a
	// count ten times larger than the measured ones leaves fewer.
	limit := 40366.0*mib - 2018*mib
	require.Equal(t, 34, int((limit-l.SafeBase)/l.SafePerInstance))
	require.Less(t, fits(l, limit), 34)
	require.LessOrEqual(t, l.Upper(fits(l, limit)), limit)
	require.Greater(t, l.Upper(fits(l, limit)+1), limit)
}

func TestExactReadings(t *testing.T) {
	t.Parallel()
	l, err := footprint.FitLaw(points(1, 110, 1, 110, 2, 120, 4, 140))
	require.NoError(t, err)
	require.Equal(t, footprint.Estimate{Value: 10 * mib, Low: 10 * mib, High: 10 * mib}, l.PerInstance)
	require.Equal(t, 90, fits(l, 1000*mib))
	require.True(t, l.Costs(mib))
	require.False(t, l.Costs(11*mib))
}

// fits returns the largest count whose upper bound is within limit.
func fits(l footprint.Law, limit float64) int {
	return sort.Search(1000, func(k int) bool { return l.Upper(k+1) > limit })
}

// TestNoiseIsNoCost has the readings of a model of a few KiB in seven analyses: the same server
// takes up to 0.8 MiB more or less each time.
func TestNoiseIsNoCost(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		var p []footprint.LawPoint
		for _, k := range []int{1, 1, 2, 4, 4} {
			p = append(p, footprint.LawPoint{Instances: k, Bytes: (50+0.05*float64(k))*mib + r.NormFloat64()*0.4*mib})
		}
		l, err := footprint.FitLaw(p)
		require.NoError(t, err)
		require.False(t, l.Costs(mib), "%+v", l)
	}
}

func TestSuperLinear(t *testing.T) {
	t.Parallel()
	l, err := footprint.FitLaw(points(1, 100, 1, 100, 2, 200, 3, 350))
	require.NoError(t, err)
	require.True(t, l.SuperLinear)
	require.InDelta(t, 150*mib, l.SafePerInstance, 1, "the last step")
	l, err = footprint.FitLaw(points(1, 100, 1, 101, 2, 199, 3, 300))
	require.NoError(t, err)
	require.False(t, l.SuperLinear, "within the noise")
}

// TestIntervals checks with noise of known size that the intervals hold the truth in 95 of 100
// cases, and that a prediction is above the truth in as many.
func TestIntervals(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	const cases = 2000
	slope, base, upper, wide := 0, 0, 0, 0.0
	for range cases {
		each, start, noise := 20+500*r.Float64(), 100+900*r.Float64(), 4*r.Float64()
		var p []footprint.LawPoint
		for _, k := range []int{1, 1, 2, 4, 4} {
			p = append(p, footprint.LawPoint{Instances: k, Bytes: (start + each*float64(k) + r.NormFloat64()*noise) * mib})
		}
		l, err := footprint.FitLaw(p)
		require.NoError(t, err)
		slope += holds(l.PerInstance, each*mib)
		base += holds(l.Base, start*mib)
		if l.Upper(30) >= (start+30*each)*mib {
			upper++
		}
		wide += (l.PerInstance.High - l.PerInstance.Low) / l.Noise / cases
	}
	require.GreaterOrEqual(t, slope, cases*95/100)
	require.GreaterOrEqual(t, base, cases*95/100)
	require.GreaterOrEqual(t, upper, cases*95/100)
	require.Less(t, wide, 4.0, "an interval that is always right would say nothing")
}

func holds(e footprint.Estimate, truth float64) int {
	if e.Low <= truth && truth <= e.High {
		return 1
	}
	return 0
}
