package perf

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMeanGPU: windows without a reading, and gauges that appear in a later window, do not
// lower a mean.
func TestMeanGPU(t *testing.T) {
	require.Nil(t, meanGPU([]*GPUStats{nil, nil}))
	a, b := newGPUStats(), newGPUStats()
	a.Utilization["0"], a.MemoryUsed["0"], a.MemoryTotal["0"] = 0.5, 7, 16
	b.Utilization["0"], b.MemoryUsed["0"], b.MemoryTotal["0"] = 0.7, 5, 17
	b.Utilization["1"], b.Power["1"] = 0.9, 100
	g := meanGPU([]*GPUStats{nil, a, b})
	require.InDelta(t, 0.6, g.Utilization["0"], 1e-9)
	require.InDelta(t, 0.9, g.Utilization["1"], 1e-9)
	require.Equal(t, map[string]float64{"1": 100}, g.Power)
	require.Equal(t, map[string]float64{"0": 7}, g.MemoryUsed)
	require.Equal(t, map[string]float64{"0": 16}, g.MemoryTotal)
}
