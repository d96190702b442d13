package measure_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

func TestNth(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	for n := 1; n < 400; n += 7 {
		values := make([]int64, n)
		for i := range values {
			values[i] = rng.Int64N(int64(n)) // with equal ones
		}
		sorted := slices.Sorted(slices.Values(values))
		for _, p := range []float64{0, 1, 50, 90, 99, 100} {
			require.Equal(t, measure.Percentile(sorted, p), measure.PercentileOf(slices.Clone(values), p))
		}
		k := rng.IntN(n)
		require.Equal(t, sorted[k], measure.Nth(values, k))
		require.Equal(t, sorted[k], slices.Max(values[:k+1]), "those before are not greater")
	}
	organ := make([]int64, 20000) // a bad order for many ways to choose a pivot
	for i := range organ {
		organ[i] = int64(min(i, len(organ)-i))
	}
	require.Equal(t, measure.Percentile(slices.Sorted(slices.Values(organ)), 75), measure.PercentileOf(organ, 75))
	require.Zero(t, measure.PercentileOf(nil, 50))
}
