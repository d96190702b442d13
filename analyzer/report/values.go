package report

import (
	"slices"
	"sort"

	"triton/analyzer/trial"
)

// Axes and columns that are no metrics but settings of the clients.
const (
	batchSize   trial.Metric = "batch_size"
	concurrency trial.Metric = "concurrency"
	requestRate trial.Metric = "request_rate"
)

// valueOf returns a metric of a result, or a setting of its first member's clients. The values of
// several members are combined as the metric says.
func valueOf(r trial.Result, tag trial.Metric) (float64, bool) {
	if len(r.Config.Members) > 0 {
		load := r.Config.Members[0].Load
		switch tag {
		case batchSize:
			return float64(load.Batch), true
		case concurrency:
			return float64(load.Concurrency), load.Concurrency > 0
		case requestRate:
			return float64(load.RequestRate), load.RequestRate > 0
		}
	}
	spec, err := trial.FindMetric(tag)
	if err != nil || r.Measurement == nil {
		return 0, false
	}
	values := valuesOf(r.Measurement, spec.Tag)
	if len(values) == 0 && spec.GPU {
		return trial.MetricOf(r.Measurement, 0, tag)
	}
	return spec.Fold.Combine(values), len(values) > 0
}

// valuesOf returns a metric of each member that has it.
func valuesOf(m *trial.Measurement, tag trial.Metric) []float64 {
	var all []float64
	for _, values := range m.Members {
		if v, ok := values[tag]; ok {
			all = append(all, v)
		}
	}
	return all
}

// hasMetric reports whether any result has a metric.
func hasMetric(results []trial.Result, tag trial.Metric) bool {
	return slices.ContainsFunc(results, func(r trial.Result) bool {
		_, ok := valueOf(r, tag)
		return ok
	})
}

// headerOf returns the name of an axis or of a column without the name of an aggregation.
func headerOf(tag trial.Metric) string {
	switch tag {
	case batchSize:
		return "Batch Size"
	case concurrency:
		return "Concurrency"
	case requestRate:
		return "Request Rate"
	}
	spec, err := trial.FindMetric(tag)
	if err != nil {
		return string(tag)
	}
	return spec.Header
}

// Pareto returns the results that satisfy the constraints and of which no other has both a higher
// throughput and a lower p99 latency, in the order of latency.
func (m *modelOutcome) Pareto() []trial.Result {
	var passed []trial.Result
	for _, v := range m.Variants {
		passed = append(passed, v.Passed...)
	}
	type point struct{ throughput, latency float64 }
	at := func(r trial.Result) (point, bool) {
		throughput, a := valueOf(r, trial.Throughput)
		latency, b := valueOf(r, trial.LatencyP99)
		return point{throughput, latency}, a && b
	}
	var front []trial.Result
	for _, r := range passed {
		p, ok := at(r)
		if !ok {
			continue
		}
		if !slices.ContainsFunc(passed, func(other trial.Result) bool {
			q, ok := at(other)
			return ok && q.throughput >= p.throughput && q.latency <= p.latency && q != p
		}) {
			front = append(front, r)
		}
	}
	sort.SliceStable(front, func(i, j int) bool {
		p, _ := at(front[i])
		q, _ := at(front[j])
		return p.latency < q.latency
	})
	return front
}
