package server

import (
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"triton/server/backend/metric"
)

// TestMergeFamilies: no family and no series is twice on the page, and a family has one kind.
func TestMergeFamilies(t *testing.T) {
	t.Parallel()
	families := func(kind metric.Kind, series ...metric.Label) []*dto.MetricFamily {
		r := metric.New(nil)
		f, err := r.Family("nv_x", "help", kind)
		require.NoError(t, err)
		for _, label := range series {
			_, err := f.Metric([]metric.Label{label, {Name: "v", Value: "1"}}, nil)
			require.NoError(t, err)
		}
		return r.Gather()
	}
	a, b := metric.Label{Name: "m", Value: "a"}, metric.Label{Name: "m", Value: "b"}
	known := families(metric.Counter, a)
	require.Empty(t, mergeFamilies(known, families(metric.Counter, a, b)))
	require.Len(t, known[0].GetMetric(), 2)
	known = families(metric.Counter, a)
	require.Empty(t, mergeFamilies(known, families(metric.Gauge, b)))
	require.Len(t, known[0].GetMetric(), 1)
	require.Equal(t, dto.MetricType_COUNTER, known[0].GetType())
	require.Len(t, mergeFamilies(nil, families(metric.Gauge, b)), 1)
}
