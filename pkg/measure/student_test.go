package measure_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/measure"
)

// The values are those of published tables.
func TestStudent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ p, freedom, want float64 }{
		{0.05, 1, 12.7062},
		{0.05, 2, 4.3027},
		{0.05, 10, 2.2281},
		{0.05, 29, 2.0452},
		{0.05, 1e6, 1.9600},
		{0.01, 5, 4.0321},
		{0.001, 29, 3.6594},
		{0.10, 2.5, 2.5582},
		{0.02, 1, 31.8205},
		{0.02, 3, 4.5407},
		{0.02, 20, 2.5280},
		{0.0001, 1, 6366.1977},
	} {
		require.InDelta(t, c.want, measure.StudentQuantile(1-c.p/2, c.freedom), 2e-4*max(1, c.want/10), "%g, %g", c.p, c.freedom)
		require.InDelta(t, c.p, measure.StudentTwoSided(c.want, c.freedom), 1e-5)
		require.InDelta(t, c.p, measure.StudentTwoSided(-c.want, c.freedom), 1e-5)
	}
	require.Equal(t, 1.0, measure.StudentTwoSided(0, 7))
	require.Zero(t, measure.StudentTwoSided(math.Inf(1), 7))
}
