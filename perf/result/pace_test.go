package result

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// setPace sets the pace of the machine of a side.
func setPace(s *Side, perSecond float64) {
	levels := s.Runs[0].File.Levels
	for i := range levels {
		levels[i].Client.RoundTrips = perSecond
	}
}

// TestPaceExplains: a difference that a faster or slower machine may explain is no verdict, one that goes the other
// way, or further, is.
func TestPaceExplains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		factor, pace float64 // of B
		live         bool
		want         string
	}{
		"slower server, same machine":            {0.85, 1, false, "B is worse"},
		"slower machine":                         {0.85, 0.87, false, "Undecided"},
		"slower server on a faster machine":      {0.85, 1.1, false, "B is worse"},
		"much slower server on a slower machine": {0.6, 0.95, false, "B is worse"},
		"faster machine":                         {1.15, 1.12, false, "Undecided"},
		"in turn they have one machine":          {0.85, 0.87, true, "B is worse"},
	} {
		a, b := simulateSides(rand.New(rand.NewPCG(11, 36)), 25, 0.02, c.factor, disturbances[0], c.live)
		setPace(&a, 80_000)
		setPace(&b, 80_000*c.pace)
		got, err := Compare(a, b, DefaultCompareOptions())
		require.NoError(t, err)
		require.Contains(t, got.Headline, c.want, name)
		for _, d := range got.Differences {
			require.LessOrEqual(t, *d.Low, d.Change, name)
			require.GreaterOrEqual(t, *d.High, d.Change, name)
		}
		if c.pace == 0.87 && !c.live {
			require.Contains(t, got.Notes, "the machine itself was 13 % slower during B: differences that this may explain are undecided")
		} else if c.pace == 1 || c.live {
			require.Empty(t, got.Notes, name)
		}
	}
}

// TestPaceUnknown: files without it, or with few, are compared without it.
func TestPaceUnknown(t *testing.T) {
	t.Parallel()
	a, b := simulateSides(rand.New(rand.NewPCG(11, 36)), 2, 0.02, 1, disturbances[0], false)
	setPace(&a, 80_000)
	setPace(&b, 40_000)
	require.Zero(t, comparePaces(a, b))
	a, b = simulateSides(rand.New(rand.NewPCG(11, 36)), 25, 0.02, 1, disturbances[0], false)
	setPace(&a, 80_000)
	setPace(&b, 0)
	require.Zero(t, comparePaces(a, b))
}
