package stats_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/stats"
)

// gather returns the families of one model, by name.
func gather(t *testing.T, served ...stats.Served) map[string]*dto.MetricFamily {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(stats.NewCollector(func() []stats.Served { return served }))
	families, err := reg.Gather()
	require.NoError(t, err)
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// keys returns the quantiles or bucket bounds of a model's first series.
func keys(f *dto.MetricFamily) []float64 {
	var all []float64
	for _, q := range f.GetMetric()[0].GetSummary().GetQuantile() {
		all = append(all, q.GetQuantile())
	}
	for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
		all = append(all, b.GetUpperBound())
	}
	return all
}

const queueSummary, queueHistogram = "nv_inference_queue_summary_us", "nv_inference_queue_duration_histogram_us"

func TestQuantiles(t *testing.T) {
	t.Parallel()
	standard := []float64{0.5, 0.9, 0.95, 0.99, 0.999}
	const invalid = "Invalid option: "
	for _, c := range []struct {
		text   string
		want   []float64
		logged []string
	}{
		{"", standard, nil},
		{"0.5:0.05", []float64{0.5}, nil},
		{"0.9:0.01, 0.5:0.05,1:0", []float64{0.5, 0.9, 1}, nil},
		{"0.1:0.0.1, 0.7x:0.01", []float64{0.1, 0.7}, nil},
		{"0.5:0.05,0.5:0.01", []float64{0.5}, nil},
		{"x,0.5:0.05,", []float64{0.5}, []string{
			invalid + "[x]. No ':' delimiter found. Expected format is <quantile>:<error>",
			invalid + "[]. No ':' delimiter found. Expected format is <quantile>:<error>",
		}},
		{"a:0.1,0.5:b", standard, []string{
			invalid + "[a:0.1]. Error: 'a' is not a number from 0 to 1",
			invalid + "[0.5:b]. Error: 'b' is not a number from 0 to 1",
		}},
		{"1.5:0.1,NaN:0.1,-1:2", standard, []string{invalid + "[1.5:0.1]", invalid + "[NaN:0.1]", invalid + "[-1:2]"}},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			var logged bytes.Buffer
			m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{
				Settings: map[string]string{"summary_latencies": "true", "summary_quantiles": c.text},
				Log:      slog.New(slog.NewTextHandler(&logged, nil)),
			})
			require.Equal(t, c.want, keys(gather(t, stats.Served{Model: m})[queueSummary]))
			for _, text := range c.logged {
				require.Contains(t, logged.String(), text)
			}
			require.Equal(t, len(c.logged), bytes.Count(logged.Bytes(), []byte(invalid)))
		})
	}
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	control := func(family string, bounds ...float64) *inferencepb.ModelMetrics_MetricControl {
		return &inferencepb.ModelMetrics_MetricControl{
			MetricIdentifier: &inferencepb.ModelMetrics_MetricControl_MetricIdentifier{Family: family},
			MetricOptions: &inferencepb.ModelMetrics_MetricControl_HistogramOptions_{
				HistogramOptions: &inferencepb.ModelMetrics_MetricControl_HistogramOptions{Buckets: bounds},
			},
		}
	}
	var logged bytes.Buffer
	m := stats.New(&inferencepb.ModelConfig{Name: "m", ModelMetrics: &inferencepb.ModelMetrics{
		MetricControl: []*inferencepb.ModelMetrics_MetricControl{
			control(queueHistogram, -1, 0.5, 7),
			control("nv_inference_request_duration_histogram_us", 2, 2),
			control(queueSummary, 1),
		},
	}}, "1", stats.Options{Settings: map[string]string{"histogram_latencies": "true"}, Log: slog.New(slog.NewTextHandler(&logged, nil))})
	for _, us := range []int64{0, 1, 7, 8, -5} {
		m.Observe(stats.Sample{Queue: us * 1000})
	}
	all := gather(t, stats.Served{Model: m})
	require.Equal(t, []float64{-1, 0.5, 7}, keys(all[queueHistogram]))
	require.Equal(t, []float64{1000, 5000, 25000, 50000, 100000}, keys(all["nv_inference_request_duration_histogram_us"]))
	require.Equal(t, []float64{100, 500, 2000, 5000}, keys(all["nv_inference_first_response_histogram_ms"]))
	h := all[queueHistogram].GetMetric()[0].GetHistogram()
	require.EqualValues(t, 5, h.GetSampleCount())
	require.InDelta(t, 16, h.GetSampleSum(), 0)
	var counts []uint64
	for _, b := range h.GetBucket() {
		counts = append(counts, b.GetCumulativeCount())
	}
	require.Equal(t, []uint64{0, 2, 4}, counts, "a bound belongs to its bucket")
	require.Contains(t, logged.String(), "Metric family '"+queueSummary+"' in 'metric_identifier' is not a customizable metric in Triton core.")
	require.Contains(t, logged.String(), "histogram buckets of metric family 'nv_inference_request_duration_histogram_us' must be strictly ascending")
}
