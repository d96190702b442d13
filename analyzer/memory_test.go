package analyzer

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
)

// A peak between two measurements is seen by the readings in between.
func TestWatchKeepsThePeak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start, reads := time.Now(), 0
		w := newWatch(t.Context(), time.Second, func() Memory {
			reads++
			m := Memory{Host: gpu.Some(HostMemory{PSS: 10, RSS: 20})}
			if s := time.Since(start); s >= 2*time.Second && s < 4*time.Second {
				m.Host.Value.PSS, m.GPU = 90, gpu.Some[uint64](7)
			}
			return m
		})
		require.Equal(t, uint64(10), w.now().Host.Value.PSS)
		time.Sleep(10*time.Second + time.Millisecond)
		require.Equal(t, Memory{Host: gpu.Some(HostMemory{PSS: 90, RSS: 20}), GPU: gpu.Some[uint64](7)}, w.now())
		require.Equal(t, 12, reads)
		w.close()
		time.Sleep(time.Minute)
		require.Equal(t, 12, reads)
	})
}
