package stats

import (
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// A summary has the quantiles of the last summaryAge, in summarySets steps, as in the
// Prometheus library that Triton uses.
const (
	summaryAge  = time.Minute
	summarySets = 5
)

// distribution describes the families of one of Sample's durations, in microseconds.
type distribution struct {
	histogram, histogramHelp string
	summary, summaryHelp     string
}

// distributions are in the order of Sample. The names and buckets of the
// histograms are those proposed for Triton.
var distributions = [...]distribution{
	{
		"nv_inference_request_duration_histogram_us", "Histogram of inference request duration in microseconds (includes cached requests)",
		"nv_inference_request_summary_us", "Summary of inference request duration in microseconds (includes cached requests)",
	},
	{
		"nv_inference_queue_duration_histogram_us", "Histogram of inference queuing duration in microseconds (includes cached requests)",
		"nv_inference_queue_summary_us", "Summary of inference queuing duration in microseconds (includes cached requests)",
	},
	{
		"nv_inference_compute_input_duration_histogram_us", "Histogram of compute input duration in microseconds (does not include cached requests)",
		"nv_inference_compute_input_summary_us", "Cumulative compute input duration in microseconds (does not include cached requests)",
	},
	{
		"nv_inference_compute_infer_duration_histogram_us", "Histogram of compute inference duration in microseconds (does not include cached requests)",
		"nv_inference_compute_infer_summary_us", "Cumulative compute inference duration in microseconds (does not include cached requests)",
	},
	{
		"nv_inference_compute_output_duration_histogram_us", "Histogram of compute output duration in microseconds (does not include cached requests)",
		"nv_inference_compute_output_summary_us", "Cumulative inference compute output duration in microseconds (does not include cached requests)",
	},
}

const (
	firstResponse     = "nv_inference_first_response_histogram_ms"
	firstResponseHelp = "Duration from request to first response in milliseconds"
)

// defaultBounds are the buckets of the histogram families.
var defaultBounds = map[string][]float64{
	firstResponse:              {100, 500, 2000, 5000},
	distributions[0].histogram: {1000, 5000, 25000, 50000, 100000},
	distributions[1].histogram: {100, 1000, 5000, 10000, 50000},
	distributions[2].histogram: {100, 500, 1000, 5000, 10000},
	distributions[3].histogram: {1000, 5000, 25000, 50000, 100000},
	distributions[4].histogram: {100, 500, 1000, 5000, 10000},
}

// samples are the distributions of one device, by the index of distributions.
type samples struct {
	histograms [len(distributions)]*histogram         // nil when off
	summaries  [len(distributions)]prometheus.Summary // nil when off
}

// samples returns the distributions of the settings; nil without any.
func (s *settings) samples() *samples {
	if !s.histograms && !s.summaries {
		return nil
	}
	all := &samples{}
	for i, d := range distributions {
		if s.histograms {
			all.histograms[i] = newHistogram(s.bounds(d.histogram))
		}
		// A cached model has no summary of the total time: Miss adds to that time
		// without the request.
		if s.summaries && (i > 0 || !s.cached) {
			all.summaries[i] = s.summary(d.summary, d.summaryHelp)
		}
	}
	return all
}

func (s *settings) summary(name, help string) prometheus.Summary {
	return prometheus.NewSummary(prometheus.SummaryOpts{
		Name: name, Help: help, Objectives: s.objectives, MaxAge: summaryAge, AgeBuckets: summarySets,
	})
}

// unknown is a duration that is not added.
const unknown = math.MinInt64

// observe adds durations, in the order of Sample. A request that was answered from the response
// cache has only the first two.
func (s *samples) observe(durations ...int64) {
	for i, ns := range durations {
		if ns == unknown {
			continue
		}
		us := max(ns, 0) / 1000
		if h := s.histograms[i]; h != nil {
			h.observe(us)
		}
		if q := s.summaries[i]; q != nil {
			q.Observe(float64(us))
		}
	}
}

// constSummary returns the current values of a summary with other labels.
func constSummary(s prometheus.Summary, d *prometheus.Desc, labels []string) (prometheus.Metric, error) {
	var m dto.Metric
	if err := s.Write(&m); err != nil {
		return nil, err
	}
	quantiles := map[float64]float64{}
	for _, q := range m.GetSummary().GetQuantile() {
		quantiles[q.GetQuantile()] = q.GetValue()
	}
	return prometheus.NewConstSummary(d, m.GetSummary().GetSampleCount(), m.GetSummary().GetSampleSum(), quantiles, labels...)
}
