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
