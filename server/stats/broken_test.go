package stats_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/stats"
)

// TestBrokenInstances: the families appear with the first break.
func TestBrokenInstances(t *testing.T) {
	t.Parallel()
	m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{})
	require.NotContains(t, gather(t, stats.Served{Model: m}), "triton_instance_broken")
	m.InstanceBroken()
	m.InstanceBroken()
	m.InstanceRestarted()
	all := gather(t, stats.Served{Model: m})
	require.Equal(t, map[string]float64{"model=m version=1": 1}, values(all["triton_instance_broken"]))
	require.Equal(t, map[string]float64{"model=m version=1": 1}, values(all["triton_backend_restarts_total"]))
}
