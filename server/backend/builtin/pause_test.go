package builtin

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Looking takes time, and so does waking up: neither makes the pause longer.
func TestAPauseIsNoLongerForItsLooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin, looks := time.Now(), 0
		require.NoError(t, pause(t.Context(), 100*time.Millisecond, func() bool {
			looks++
			time.Sleep(time.Millisecond)
			return false
		}))
		require.Equal(t, 100*time.Millisecond, time.Since(begin))
		require.Greater(t, looks, 20)
	})
}
