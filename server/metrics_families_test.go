package server

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"triton/server/backend"
)

// TestMergeFamilies: no family and no series is twice on the page, and a family has one kind.
func TestMergeFamilies(t *testing.T) {
	t.Parallel()
	families := func(kind backend.MetricKind, series ...backend.MetricLabel) []*dto.MetricFamily {
		r := backend.NewMetrics(nil)
		f, err := r.Family("nv_x", "help", kind)
		require.NoError(t, err)
		for _, label := range series {
			_, err := f.Metric([]backend.MetricLabel{label, {Name: "v", Value: "1"}}, nil)
			require.NoError(t, err)
		}
		return r.Gather()
	}
	a, b := backend.MetricLabel{Name: "m", Value: "a"}, backend.MetricLabel{Name: "m", Value: "b"}
	known := families(backend.Counter, a)
	require.Empty(t, mergeFamilies(known, families(backend.Counter, a, b)))
	require.Len(t, known[0].GetMetric(), 2)
	known = families(backend.Counter, a)
	require.Empty(t, mergeFamilies(known, families(backend.Gauge, b)))
	require.Len(t, known[0].GetMetric(), 1)
	require.Equal(t, dto.MetricType_COUNTER, known[0].GetType())
	require.Len(t, mergeFamilies(nil, families(backend.Gauge, b)), 1)
}
