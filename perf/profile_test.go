package perf_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/perf"
)

func TestProfileHoldsTheRequestsOfAllWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().UnixNano()
		rep, _, err := measure(t, newFake(1700*time.Microsecond), func(c *perf.Config) {
			c.Profile, c.Range.End, c.Batches = true, 2, []int{2}
		})
		require.NoError(t, err)
		require.Len(t, rep.Levels, 2)
		for _, l := range rep.Levels {
			p := l.Profile
			require.Len(t, p.Windows, 1+l.Trials)
			require.Equal(t, time.Duration(p.Windows[l.Trials]-p.Windows[0]), l.Duration, "the level ended with its third window")
			require.GreaterOrEqual(t, p.Windows[0], begin)
			require.Len(t, p.Requests, l.Requests)
			for i, r := range p.Requests {
				end := r.Responses[0].Time
				require.EqualValues(t, 1700*time.Microsecond, end-r.Start)
				require.True(t, end >= p.Windows[0] && end <= p.Windows[l.Trials])
				require.Equal(t, []int64{2, 16}, []int64(r.Inputs[0].Shape))
				require.True(t, i == 0 || p.Requests[i-1].Start <= r.Start)
			}
		}
	})
}
