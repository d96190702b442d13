package serve

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Memory is given back once for all models that are closed within the delay, and again for one
// that is closed while it is given back.
func TestReclaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var runs []time.Duration
		var r *reclaimer
		r = newReclaimer(func() {
			runs = append(runs, time.Since(begin))
			if len(runs) == 1 {
				r.modelClosed()
			}
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Empty(t, runs, "no model was closed")
		begin = time.Now()
		for range 4 {
			r.modelClosed()
			time.Sleep(time.Second)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, []time.Duration{reclaimDelay, 2 * reclaimDelay}, runs)
	})
}
