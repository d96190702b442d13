package traffic

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBoundsHold: the probability that a bound is wrong is at most alpha, also with few requests,
// and one that is closer would be wrong more often.
func TestBoundsHold(t *testing.T) {
	t.Parallel()
	const p = 0.01
	for _, n := range []int64{1, 20, 30, 40, 100, 700, 1000, 5000, 90_000} {
		for _, alpha := range []float64{0.025, 0.00125, 1e-5} {
			fewest, most := ranksAbove(n, p, alpha)
			require.LessOrEqual(t, atLeast(n, most+1, p), alpha*(1+1e-6), "%d, %g", n, alpha)
			if most > 0 {
				require.Greater(t, atLeast(n, most, p), alpha*(1-1e-6), "%d, %g", n, alpha)
			}
			if fewest >= 0 {
				require.LessOrEqual(t, 1-atLeast(n, fewest+1, p), alpha*(1+1e-6), "%d, %g", n, alpha)
			}
			require.Greater(t, 1-atLeast(n, fewest+2, p), alpha*(1-1e-6), "%d, %g", n, alpha)
		}
	}
	fewest, _ := ranksAbove(600, p, 0.00125)
	require.Equal(t, int64(-1), fewest, "too few requests for an upper bound")
	fewest, most := ranksAbove(10_000_000, p, 0.025)
	require.InDelta(t, 100_000-617, fewest, 3)
	require.InDelta(t, 100_000+617, most, 3)
}

// atLeast returns the probability that at least k of n are above, by the terms from k on.
func atLeast(n, k int64, p float64) (sum float64) {
	term := math.Exp(logChoose(n, k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	for ; k <= n; k++ {
		sum += term
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
	return sum
}
