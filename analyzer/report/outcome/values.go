package outcome

import (
	"slices"
	"sort"

	"triton/analyzer/metric"
	"triton/analyzer/ranking"
	"triton/analyzer/trial"
)

// Axes and columns that are no metrics but settings of the clients.
const (
	BatchSize   metric.Tag = "batch_size"
	Concurrency metric.Tag = "concurrency"
	RequestRate metric.Tag = "request_rate"
)

// Value returns a metric of a result, or a setting of its first member's clients. The values of
// several members are combined as the metric says.
func Value(r trial.Result, tag metric.Tag) (float64, bool) {
	if len(r.Config.Members) > 0 {
		load := r.Config.Members[0].Load
		switch tag {
		case BatchSize:
			return float64(load.Batch), true
		case Concurrency:
			return float64(load.Concurrency), load.Concurrency > 0
		case RequestRate:
			return float64(load.RequestRate), load.RequestRate > 0
		}
	}
	spec, err := metric.Find(tag)
	if err != nil || r.Measurement == nil {
		return 0, false
	}
	values := Values(r.Measurement, spec.Tag)
	if len(values) == 0 && spec.GPU {
		return ranking.Value(r.Measurement, 0, tag)
	}
	return spec.Models.Combine(values), len(values) > 0
}

// Values returns a metric of each member that has it.
func Values(m *trial.Measurement, tag metric.Tag) []float64 {
	var all []float64
	for _, values := range m.Members {
		if v, ok := values[tag]; ok {
			all = append(all, v)
		}
	}
	return all
}

// Has reports whether any result has a metric.
func Has(results []trial.Result, tag metric.Tag) bool {
	return slices.ContainsFunc(results, func(r trial.Result) bool {
		_, ok := Value(r, tag)
		return ok
	})
}

// Header returns the name of an axis or of a column without the name of an aggregation.
func Header(tag metric.Tag) string {
	switch tag {
	case BatchSize:
		return "Batch Size"
	case Concurrency:
		return "Concurrency"
	case RequestRate:
		return "Request Rate"
	}
	spec, err := metric.Find(tag)
	if err != nil {
		return string(tag)
	}
	return spec.Header
}

// Pareto returns the results that satisfy the constraints and of which no other has both a higher
// throughput and a lower p99 latency, in the order of latency.
func (m *Model) Pareto() []trial.Result {
	var passed []trial.Result
	for _, v := range m.Variants {
		passed = append(passed, v.Passed...)
	}
	type point struct{ throughput, latency float64 }
	at := func(r trial.Result) (point, bool) {
		throughput, a := Value(r, metric.Throughput)
		latency, b := Value(r, metric.LatencyP99)
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
