package server

import (
	"regexp"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// schedulerLatency is the time that goroutines wait for a processor. The collector's defaults lack
// it, and it is what tells a machine that is too small from a model that is slow.
var schedulerLatency = regexp.MustCompile(`^/sched/latencies:seconds$`)

// newRuntimeMetrics returns a registry of the Go runtime and the process, under the names of the
// client library, which dashboards know. Only the metrics endpoint has them: ORCA headers do not
// pay for them, and a program that embeds the server has its own.
func newRuntimeMetrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(collectors.GoRuntimeMetricsRule{Matcher: schedulerLatency})),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return r
}

// buildInfo says which program serves, beside the version of Triton that it follows.
func buildInfo(version, commit string) prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "triton_build_info", Help: "1, with the version and commit of this program and the version of Triton that it follows, as labels",
		ConstLabels: prometheus.Labels{"version": version, "commit": commit, "triton": TritonVersion},
	})
	g.Set(1)
	return g
}
