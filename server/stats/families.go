package stats

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// family is one metric of model versions.
type family struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*Served, *Counters) float64
	latency    bool // omitted when latency counters are switched off
	cached     bool // only for models whose configuration enables the response cache
}

func micros(c Count) float64 { return float64(c.Ns / 1000) }

// families are Triton's metrics of model versions, in its order. The family of failures has
// no value, because it has one more label.
var families = []family{
	{
		"nv_inference_request_success", "Number of successful inference requests, all batch sizes", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Success.Count) }, false, false,
	},
	{failureName, failureHelp, prometheus.CounterValue, nil, false, false},
	{
		"nv_inference_count", "Number of inferences performed (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Inferences) }, false, false,
	},
	{
		"nv_inference_exec_count", "Number of model executions performed (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Executions) }, false, false,
	},
	{
		"nv_inference_request_duration_us", "Cumulative inference request duration in microseconds (includes cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.Success) }, true, false,
	},
	{
		"nv_inference_queue_duration_us", "Cumulative inference queuing duration in microseconds (includes cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.Queue) }, true, false,
	},
	{
		"nv_inference_compute_input_duration_us", "Cumulative compute input duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeInput) }, true, false,
	},
	{
		"nv_inference_compute_infer_duration_us", "Cumulative compute inference duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeInfer) }, true, false,
	},
	{
		"nv_inference_compute_output_duration_us", "Cumulative inference compute output duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeOutput) }, true, false,
	},
	{
		"nv_cache_num_hits_per_model", "Number of cache hits per model", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.CacheHit.Count) }, true, true,
	},
	{
		"nv_cache_hit_duration_per_model", "Total cache hit duration per model, in microseconds", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.CacheHit) }, true, true,
	},
	{
		"nv_cache_num_misses_per_model", "Number of cache misses per model", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.CacheMiss.Count) }, true, true,
	},
	{
		"nv_cache_miss_duration_per_model", "Total cache miss (insert+lookup) duration per model, in microseconds", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.CacheMiss) }, true, true,
	},
	{
		"nv_inference_pending_request_count", "Instantaneous number of pending requests awaiting execution per-model.", prometheus.GaugeValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Pending) }, false, false,
	},
	{
		"nv_model_load_duration_secs", "Model load time in seconds", prometheus.GaugeValue,
		func(s *Served, _ *Counters) float64 { return s.LoadSeconds }, false, false,
	},
}

const (
	failureName = "nv_inference_request_failure"
	failureHelp = "Number of failed inference requests, all batch sizes"

	inFlightName = "triton_inference_in_flight_request_count"
	inFlightHelp = "Number of requests that wait or run, or of open sequences if those are more"

	closeName = "triton_batch_close_count"
	closeHelp = "Number of batches by what made them due"
	sizeName  = "triton_batch_size"
	sizeHelp  = "Executed batches by their number of rows"
)

// Family is the name and the kind of a metric.
type Family struct {
	Name string
	Kind dto.MetricType
}

// Families returns the metrics of model versions in Triton's order, then ours.
func Families() []Family {
	var all []Family
	for _, f := range families {
		all = append(all, Family{f.name, *f.kind.ToDTO()})
	}
	all = append(all, Family{firstResponse, dto.MetricType_HISTOGRAM})
	for _, d := range distributions {
		all = append(all, Family{d.histogram, dto.MetricType_HISTOGRAM})
	}
	for _, d := range distributions {
		all = append(all, Family{d.summary, dto.MetricType_SUMMARY})
	}
	return append(all, Family{hitSummary, dto.MetricType_SUMMARY}, Family{missSummary, dto.MetricType_SUMMARY},
		Family{inFlightName, dto.MetricType_GAUGE}, Family{closeName, dto.MetricType_COUNTER}, Family{sizeName, dto.MetricType_HISTOGRAM})
}
