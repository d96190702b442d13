package serve

import (
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHeapFloor(t *testing.T) {
	t.Parallel()
	goal := []metrics.Sample{{Name: "/gc/heap/goal:bytes"}}
	require.NoError(t, onHeapFloor(func() error {
		runtime.GC()
		metrics.Read(goal)
		return nil
	}))
	require.GreaterOrEqual(t, goal[0].Value.Uint64(), uint64(2*heapFloor))
}
