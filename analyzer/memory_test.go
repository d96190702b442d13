package analyzer

import (
	"sync/atomic"
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
		start := time.Now()
		var reads atomic.Int64
		w := newWatch(t.Context(), time.Second, func() Memory {
			reads.Add(1)
			m := Memory{Host: gpu.Some(HostMemory{PSS: 10, RSS: 20})}
			if s := time.Since(start); s >= 2*time.Second && s < 4*time.Second {
				m.Host.Value.PSS, m.GPU = 90, gpu.Some[uint64](7)
			}
			return m
		})
		require.Equal(t, uint64(10), w.now().Host.Value.PSS)
		time.Sleep(10*time.Second + time.Millisecond)
		require.Equal(t, Memory{Host: gpu.Some(HostMemory{PSS: 90, RSS: 20}), GPU: gpu.Some[uint64](7)}, w.now())
		require.Equal(t, int64(12), reads.Load())
		w.close()
		time.Sleep(time.Minute)
		require.Equal(t, int64(12), reads.Load())
	})
}
