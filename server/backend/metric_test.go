package backend

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/prototext"
)

// The texts are NVIDIA's, recorded from its server.
func TestErrors(t *testing.T) {
	t.Parallel()
	r := NewMetrics(func(name string, kind MetricKind) bool { return name == "nv_inference_count" && kind != Counter })
	family := func(kind MetricKind) *MetricFamily {
		f, err := r.Family("f_"+strings.ToLower(kind.String()), "help", kind)
		require.NoError(t, err)
		return f
	}
	metric := func(kind MetricKind) *Metric {
		m, err := family(kind).Metric([]MetricLabel{{"b", "1"}, {"a", "2"}}, nil)
		require.NoError(t, err)
		return m
	}
	c, g, h := metric(Counter), metric(Gauge), metric(Histogram)
	_, noValue := h.Value()
	_, name := r.Family("bad name", "", Gauge)
	_, server := r.Family("nv_inference_count", "", Gauge)
	for _, free := range []string{"f_triton", "nv_trt_llm_kv_cache_block_metrics", "triton_own", "go_own", "process_own"} {
		_, err := r.Family(free, "", Gauge)
		require.NoError(t, err)
	}
	_, same := r.Family("nv_inference_count", "", Counter)
	require.NoError(t, same)
	_, kind := r.Family("f_triton", "", Counter)
	_, bounds := family(Histogram).Metric(nil, []float64{10, 1})
	_, label := family(Gauge).Metric([]MetricLabel{{"a b", ""}}, nil)
	for text, err := range map[string]error{
		"TRITONSERVER_METRIC_KIND_COUNTER does not support Set":         c.Set(1),
		"TRITONSERVER_METRIC_KIND_COUNTER does not support Observe":     c.Observe(1),
		"TRITONSERVER_METRIC_KIND_GAUGE does not support Observe":       g.Observe(1),
		"TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Set":       h.Set(1),
		"TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Increment": h.Increment(1),
		"TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value":     noValue,
		"Invalid metric name":                       name,
		"Bucket Boundaries must be strictly sorted": bounds,
		"Invalid label name":                        label,
		"TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.": c.Increment(-1),
	} {
		require.EqualError(t, err, text)
	}
	require.EqualError(t, server, "Family name already exists with different type")
	require.EqualError(t, kind, "Family name already exists with different type")
}

// Models share families and metrics; the last use removes them.
func TestLife(t *testing.T) {
	t.Parallel()
	r := NewMetrics(nil)
	f, err := r.Family("requests", "count", Counter)
	require.NoError(t, err)
	same, err := r.Family("requests", "other", Counter)
	require.NoError(t, err)
	require.Same(t, f, same)
	require.Empty(t, r.Gather())
	a, err := f.Metric([]MetricLabel{{"x", "1"}, {"a", "2"}}, nil)
	require.NoError(t, err)
	b, err := same.Metric([]MetricLabel{{"a", "2"}, {"x", "1"}}, nil)
	require.NoError(t, err)
	require.NoError(t, a.Increment(1))
	require.NoError(t, b.Increment(1.5))
	v, err := a.Value()
	require.NoError(t, err)
	require.InDelta(t, 2.5, v, 0)
	h, err := r.Family("times", "", Histogram)
	require.NoError(t, err)
	m, err := h.Metric(nil, []float64{0.1, 1, 10})
	require.NoError(t, err)
	for _, v := range []float64{0.1, 0.5, 50} {
		require.NoError(t, m.Observe(v))
	}
	all := r.Gather()
	require.Len(t, all, 2)
	require.Equal(t, `name:"requests"help:"count"type:COUNTERmetric:{label:{name:"a"value:"2"}label:{name:"x"value:"1"}counter:{value:2.5}}`,
		strings.ReplaceAll(prototext.MarshalOptions{}.Format(all[0]), " ", ""))
	require.Equal(t, `name:"times"help:""type:HISTOGRAMmetric:{histogram:{sample_count:3sample_sum:50.6bucket:{cumulative_count:1upper_bound:0.1}`+
		`bucket:{cumulative_count:2upper_bound:1}bucket:{cumulative_count:2upper_bound:10}}}`,
		strings.ReplaceAll(prototext.MarshalOptions{}.Format(all[1]), " ", ""))
	a.Release()
	require.Len(t, r.Gather(), 2)
	b.Release()
	require.Len(t, r.Gather(), 1)
	f.Release()
	same.Release()
	f, err = r.Family("requests", "", Gauge)
	require.NoError(t, err, "the name is free again")
	f.Release()
	m.Release()
	h.Release()
	require.Empty(t, r.Gather())
}

// TestTableDropsFamily: without its family a metric cannot be changed, so it is not shown either, also
// where another child uses the family.
func TestTableDropsFamily(t *testing.T) {
	t.Parallel()
	r := NewMetrics(nil)
	var child, other MetricTable
	make := func(table *MetricTable, label string) {
		f, err := r.Family("requests", "count", Counter)
		require.NoError(t, err)
		m, err := f.Metric([]MetricLabel{{"x", label}}, nil)
		require.NoError(t, err)
		table.AddFamily(1, f)
		table.AddMetric(2, 1, m)
	}
	make(&child, "1")
	make(&other, "2")
	child.Drop(1)
	child.Drop(2) // the child's own end of the metric comes later
	require.Nil(t, child.Metric(2))
	all := r.Gather()
	require.Len(t, all, 1)
	require.Len(t, all[0].GetMetric(), 1)
	require.Equal(t, "2", all[0].GetMetric()[0].GetLabel()[0].GetValue())
	other.Release()
	require.Empty(t, r.Gather())
}
