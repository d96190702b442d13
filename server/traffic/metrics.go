package traffic

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"triton/pkg/trafficrules"
)

// Collector collects the metrics of all names with rules.
type Collector struct{ service *Service }

var _ prometheus.Collector = Collector{}

// Metrics returns a collector.
func (s *Service) Metrics() Collector { return Collector{s} }

var (
	decisionsDesc = prometheus.NewDesc("triton_traffic_requests_total",
		"Number of requests that named no version, by the version that a rule has sent them to", []string{"model", "target", "version", "rule"}, nil)
	sequencesDesc = prometheus.NewDesc("triton_traffic_sequences",
		"Number of open sequences that stay on their version", []string{"model"}, nil)
	weightDesc = prometheus.NewDesc("triton_traffic_canary_weight_percent",
		"Share of requests of the canary", []string{"model", "target", "version"}, nil)
	stateDesc = prometheus.NewDesc("triton_traffic_canary_state",
		"1 for the state of the canary, 0 for the others", []string{"model", "target", "version", "state"}, nil)
	rollbacksDesc = prometheus.NewDesc("triton_traffic_rollbacks_total",
		"Number of canaries that were rolled back", []string{"model"}, nil)
	shadowDesc = prometheus.NewDesc("triton_shadow_requests_total",
		"Number of requests that a shadow has copied, dropped or skipped, by result", []string{"model", "target", "version", "result"}, nil)
	elementsDesc = prometheus.NewDesc("triton_shadow_elements_total",
		"Number of output elements that a shadow has compared", []string{"model", "target", "version"}, nil)
	mismatchesDesc = prometheus.NewDesc("triton_shadow_mismatched_elements_total",
		"Number of output elements of a shadow outside the tolerance", []string{"model", "target", "version"}, nil)
	maxErrorDesc = prometheus.NewDesc("triton_shadow_max_abs_error",
		"Largest difference of two output elements", []string{"model", "target", "version"}, nil)
)

// Describe sends nothing: the metrics exist only for models with rules.
func (Collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics.
func (c Collector) Collect(out chan<- prometheus.Metric) {
	c.service.mu.Lock()
	defer c.service.mu.Unlock()
	for _, n := range c.service.sorted() {
		n.collect(out)
	}
}

// collect sends the metrics of a name. The caller holds the lock.
func (n *name) collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	for _, d := range n.decisions.all() {
		send(decisionsDesc, prometheus.CounterValue, float64(d.count.Load()), n.name, d.model, d.version, d.rule)
	}
	send(sequencesDesc, prometheus.GaugeValue, float64(n.sequences.count(time.Now())), n.name)
	if n.canary != nil {
		st, t := n.canary.Status(), n.canary.Config().Of(n.name)
		send(weightDesc, prometheus.GaugeValue, st.Weight, n.name, t.Model, t.Version)
		for _, state := range []trafficrules.CanaryState{trafficrules.CanaryWaiting, trafficrules.CanaryProgressing, trafficrules.CanaryPromoted, trafficrules.CanaryRolledBack} {
			on := 0.0
			if st.State == state {
				on = 1
			}
			send(stateDesc, prometheus.GaugeValue, on, n.name, t.Model, t.Version, string(state))
		}
		send(rollbacksDesc, prometheus.CounterValue, float64(n.rollbacks), n.name)
	}
	if n.shadow != nil {
		st, t := n.shadow.Status(false), n.shadow.Config().Of(n.name)
		for _, r := range []struct {
			result string
			count  uint64
		}{
			{"matched", st.Compared - st.Mismatched},
			{"mismatched", st.Mismatched},
			{"failed", st.Failed},
			{"dropped", st.Dropped},
			{"skipped", st.Skipped},
		} {
			send(shadowDesc, prometheus.CounterValue, float64(r.count), n.name, t.Model, t.Version, r.result)
		}
		send(elementsDesc, prometheus.CounterValue, float64(st.Elements), n.name, t.Model, t.Version)
		send(mismatchesDesc, prometheus.CounterValue, float64(st.MismatchedElements), n.name, t.Model, t.Version)
		send(maxErrorDesc, prometheus.GaugeValue, st.MaxAbsError, n.name, t.Model, t.Version)
	}
}
