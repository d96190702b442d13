package stats

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Served is a model version that metrics are written for.
type Served struct {
	*Model
	Tags        map[string]string // metric_tags of the configuration
	LoadSeconds float64
}

// family is one metric of model versions.
type family struct {
	name, help string
	kind       prometheus.ValueType
	value      func(*Served, *Counters) float64
}

func micros(c Count) float64 { return float64(c.Ns / 1000) }

// families are Triton's metrics of model versions, in its order. Failures have
// one more label and stand apart, after the first.
var families = []family{
	{
		"nv_inference_request_success", "Number of successful inference requests, all batch sizes", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Success.Count) },
	},
	{failureName, failureHelp, prometheus.CounterValue, nil},
	{
		"nv_inference_count", "Number of inferences performed (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Inferences) },
	},
	{
		"nv_inference_exec_count", "Number of model executions performed (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Executions) },
	},
	{
		"nv_inference_request_duration_us", "Cumulative inference request duration in microseconds (includes cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.Success) },
	},
	{
		"nv_inference_queue_duration_us", "Cumulative inference queuing duration in microseconds (includes cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.Queue) },
	},
	{
		"nv_inference_compute_input_duration_us", "Cumulative compute input duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeInput) },
	},
	{
		"nv_inference_compute_infer_duration_us", "Cumulative compute inference duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeInfer) },
	},
	{
		"nv_inference_compute_output_duration_us", "Cumulative inference compute output duration in microseconds (does not include cached requests)", prometheus.CounterValue,
		func(_ *Served, c *Counters) float64 { return micros(c.ComputeOutput) },
	},
	{
		"nv_inference_pending_request_count", "Instantaneous number of pending requests awaiting execution per-model.", prometheus.GaugeValue,
		func(_ *Served, c *Counters) float64 { return float64(c.Pending) },
	},
	{
		"nv_model_load_duration_secs", "Model load time in seconds", prometheus.GaugeValue,
		func(s *Served, _ *Counters) float64 { return s.LoadSeconds },
	},
}

const (
	failureName = "nv_inference_request_failure"
	failureHelp = "Number of failed inference requests, all batch sizes"
	closeName   = "triton_batch_close_count"
	closeHelp   = "Number of batches by what made them due"
)

// Collector gives Prometheus the counters of the model versions that serve at
// the moment of a scrape.
type Collector struct {
	models func() []Served
}

var _ prometheus.Collector = (*Collector)(nil)

// NewCollector makes a collector over whatever models returns.
func NewCollector(models func() []Served) *Collector { return &Collector{models} }

// Describe sends nothing: the labels depend on the models' tags.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect reads all counters once.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, s := range c.models() {
		names, values := labels(&s)
		counters := s.Counters()
		for _, f := range families {
			if f.value == nil {
				collectFailures(out, &counters, names, values)
				continue
			}
			desc := prometheus.NewDesc(f.name, f.help, names, nil)
			send(out, desc, f.kind, f.value(&s, &counters), values)
		}
		collectCloses(out, &counters, names, values)
	}
}

func collectFailures(out chan<- prometheus.Metric, c *Counters, names, values []string) {
	desc := withReason(failureName, failureHelp, names)
	for _, why := range Failures() {
		send(out, desc, prometheus.CounterValue, float64(c.Failures[why]), append(slices.Clone(values), why.String()))
	}
}

// collectCloses is a metric that Triton has not: whoever tunes preferred sizes
// and the queue delay sees which of them cuts the batches.
func collectCloses(out chan<- prometheus.Metric, c *Counters, names, values []string) {
	desc := withReason(closeName, closeHelp, names)
	for _, why := range Closes() {
		send(out, desc, prometheus.CounterValue, float64(c.Closes[why]), append(slices.Clone(values), why.String()))
	}
}

func withReason(name, help string, names []string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append(slices.Clone(names), "reason"), nil)
}

// send reports what cannot be a metric as an error of the scrape.
func send(out chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v float64, labels []string) {
	m, err := prometheus.NewConstMetric(d, kind, v, labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	out <- m
}

// labels are the names and values of a version's labels. A tag's name gets an
// underscore in front, so that it never hides another label.
func labels(s *Served) (names, values []string) {
	names, values = []string{"model", "version"}, []string{s.Name(), s.Version()}
	for k, v := range s.Tags {
		names, values = append(names, "_"+k), append(values, v)
	}
	return names, values
}

// FamilyNames lists the metrics of model versions in Triton's order, then ours.
func FamilyNames() []string {
	all := make([]string, 0, len(families)+1)
	for _, f := range families {
		all = append(all, f.name)
	}
	return append(all, closeName)
}
