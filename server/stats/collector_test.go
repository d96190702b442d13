package stats_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/stats"
)

// values returns a family's counters and gauges, or its distributions' counts, by
// labels.
func values(f *dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()+m.GetSummary().GetSampleCount())
		all[strings.Join(labels, " ")] = v
	}
	return all
}

// TestDevices: the counters of instances on a GPU are series with that GPU's label; those of the
// queue and of other instances are series of the model. Both have all families.
func TestDevices(t *testing.T) {
	t.Parallel()
	m := stats.New(&inferencepb.ModelConfig{Name: "m", MaxBatchSize: 8}, "1", stats.Options{
		Settings: map[string]string{"histogram_latencies": "true", "summary_latencies": "true"},
		GPUs:     map[int]string{0: "GPU-0", 1: "GPU-1"},
	})
	one, again := m.Device(0), m.Device(0)
	require.Same(t, one, again)
	require.Same(t, &m.DeviceStats, m.Device(7), "a GPU without metrics")
	one.Executed(batch())
	one.Observe(stats.Sample{Queue: 5})
	one.Fail(stats.Backend, 1)
	m.Executed(batch())
	m.Executed(batch())
	m.Fail(stats.Rejected, 1)
	m.FirstResponse(5e6)
	m.Pending.Add(3)

	const own, gpu = "model=m version=1", "gpu_uuid=GPU-0 model=m version=1"
	all := gather(t, stats.Served{Model: m, LoadSeconds: 2})
	for name, want := range map[string]map[string]float64{
		"nv_inference_request_success":             {own: 6, gpu: 3},
		"nv_inference_count":                       {own: 8, gpu: 4},
		"nv_inference_exec_count":                  {own: 2, gpu: 1},
		"nv_inference_pending_request_count":       {own: 3, gpu: 0},
		"nv_model_load_duration_secs":              {own: 2, gpu: 0},
		"nv_inference_first_response_histogram_ms": {own: 1, gpu: 0},
		queueHistogram:                             {own: 0, gpu: 1},
		queueSummary:                               {own: 0, gpu: 1},
		"triton_batch_size":                        {own: 3},
	} {
		require.Equal(t, want, values(all[name]), name)
	}
	failures := values(all["nv_inference_request_failure"])
	require.Len(t, failures, 8)
	require.InDelta(t, 1, failures["gpu_uuid=GPU-0 model=m reason=BACKEND version=1"], 0)
	require.InDelta(t, 1, failures["model=m reason=REJECTED version=1"], 0)
	require.InDelta(t, 0, failures["model=m reason=BACKEND version=1"], 0)

	s := m.Snapshot() // all devices together
	require.EqualValues(t, 3, s.ExecutionCount)
	require.EqualValues(t, 12, s.InferenceCount)
	require.EqualValues(t, 9, s.InferenceStats.Success.Count)
	require.EqualValues(t, 2, s.InferenceStats.Fail.Count)
}

func TestLabels(t *testing.T) {
	t.Parallel()
	a, b := stats.NewModel("m", "1", 8), stats.NewModel("m", "1", 8)
	all := gather(t,
		stats.Served{Model: a, Namespace: "/models/a", Tags: map[string]string{"model": "x", "le": "y"}},
		stats.Served{Model: b, Namespace: "/models/b"})
	require.Equal(t, map[string]float64{"_le=y _model=x model=m namespace=/models/a version=1": 0, "model=m namespace=/models/b version=1": 0},
		values(all["nv_inference_count"]))
}

func TestBatchSizes(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 12)
	for _, rows := range []int{1, 2, 3, 8, 9, 12, 12} {
		m.Executed(&stats.Batch{Rows: rows})
	}
	f := gather(t, stats.Served{Model: m})["triton_batch_size"]
	require.Equal(t, []float64{1, 2, 4, 8, 12}, keys(f))
	var counts []uint64
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		counts = append(counts, b.GetCumulativeCount())
	}
	require.Equal(t, []uint64{1, 2, 3, 4, 7}, counts)
	require.InDelta(t, 47, f.GetMetric()[0].GetHistogram().GetSampleSum(), 0)
}

// TestSummary: quantiles are those of the last minute, count and sum of all
// time.
func TestSummary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{Settings: map[string]string{"summary_latencies": "true"}})
		read := func() *dto.Summary {
			return gather(t, stats.Served{Model: m})[queueSummary].GetMetric()[0].GetSummary()
		}
		median := func() float64 { return read().GetQuantile()[0].GetValue() }
		require.True(t, math.IsNaN(median()), "no number before the first request")
		for us := int64(1); us <= 1000; us++ {
			m.Observe(stats.Sample{Queue: us*1000 + 999})
		}
		require.InDelta(t, 500, median(), 50)
		require.InDelta(t, 990, read().GetQuantile()[3].GetValue(), 2)
		time.Sleep(30 * time.Second)
		m.Observe(stats.Sample{Queue: 7000})
		require.InDelta(t, 500, median(), 51)
		time.Sleep(31 * time.Second)
		require.InDelta(t, 7, median(), 0)
		time.Sleep(time.Minute)
		require.True(t, math.IsNaN(median()), "no number after a quiet minute")
		require.EqualValues(t, 1001, read().GetSampleCount())
		require.InDelta(t, 500507, read().GetSampleSum(), 0)
	})
}

func BenchmarkObserve(b *testing.B) {
	for name, settings := range map[string]map[string]string{
		"off": nil, "histograms": {"histogram_latencies": "true"}, "summaries": {"summary_latencies": "true"},
	} {
		b.Run(name, func(b *testing.B) {
			m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{Settings: settings})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if m.Detailed() {
						m.Observe(stats.Sample{Total: 2e6, Queue: 1e4, Input: 1e3, Infer: 1e6, Output: 1e4})
					}
				}
			})
		})
	}
}

func BenchmarkCollect(b *testing.B) {
	m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{Settings: map[string]string{"histogram_latencies": "true"}})
	c := stats.NewCollector(func() []stats.Served { return []stats.Served{{Model: m}} })
	out := make(chan prometheus.Metric, 1000)
	b.ReportAllocs()
	for b.Loop() {
		c.Collect(out)
		for len(out) > 0 {
			<-out
		}
	}
}
