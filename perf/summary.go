package perf

import (
	"math"
	"slices"
	"time"

	"triton/pkg/measure"
)

// quickSummary computes the figures of a window that decide stability and are printed after it. Load
// runs meanwhile, so it does not sort: it takes a few passes over the samples.
func (r *run) quickSummary(w *window, batch int) (Summary, []int64) {
	s := Summary{
		Requests: len(w.samples),
		Duration: time.Duration(w.ns),
		Overhead: w.overhead,
		Server:   w.server,
		GPU:      w.gpu,
		Errors:   w.errors,
		Process:  w.process.figures(),
	}
	s.Throughput = measure.Throughput(uint64(s.Requests)*uint64(max(batch, 1)), w.ns)
	latencies := make([]int64, len(w.samples))
	for i := range w.samples {
		sample := &w.samples[i]
		latencies[i] = sample.Latency
		s.MaxLatency = max(s.MaxLatency, time.Duration(sample.Latency))
		s.Responses += int(sample.Responses)
		if sample.SequenceEnd {
			s.Sequences++
		}
	}
	if r.settings.Mode.Rate() {
		s.Schedule = lateness(w)
	}
	s.ResponseThroughput = measure.Throughput(uint64(s.Responses), w.ns)
	s.AvgLatency = time.Duration(measure.Mean(latencies))
	s.StdDev = measure.StdDevMicros(latencies)
	s.Stabilizing = s.AvgLatency
	if p := r.settings.Percentile; p > 0 {
		s.Stabilizing = time.Duration(measure.PercentileOf(latencies, p))
		s.Percentiles = []Percentile{{P: p, Latency: s.Stabilizing, Samples: s.Requests}}
	}
	// As in perf_analyzer, streams of decoupled models have no client times.
	if n := int64(w.totals.Completed); n > 0 && !r.settings.Decoupled {
		s.Client = ClientTimes{
			Completed: w.totals.Completed,
			Request:   time.Duration(w.totals.Request / n),
			Send:      time.Duration(w.totals.Send / n),
			Receive:   time.Duration(w.totals.Receive / n),
		}
	}
	return s, latencies
}

// fullSummary computes all figures of the windows of a level. The load is paused.
func (r *run) fullSummary(w *window, batch int) Summary {
	s, latencies := r.quickSummary(w, batch)
	r.warnOfOneRequest(&s)
	batches := measure.DivideBatches(w.samples, w.from, w.to())
	slices.Sort(latencies)
	s.Percentiles = nil
	tail := quantiles{samples: w.samples, batches: &batches, at: func(rank int) int64 { return latencies[rank] }}
	for _, p := range percentiles(r.settings.Percentile) {
		s.Percentiles = append(s.Percentiles, tail.percentile(p, measure.Percentile(latencies, p)))
	}
	s.P999 = tail.percentile(99.9, measure.Percentile(latencies, 99.9))
	s.ThroughputInterval = around(s.Throughput, batches.Count().Half/float64(max(s.Requests, 1)))
	mean := float64(s.AvgLatency)
	s.AvgInterval = around(mean, batches.Mean(w.samples, latencyOfSample).Half/mean)
	s.StabilizingInterval = s.AvgInterval
	for _, p := range s.Percentiles {
		if p.P == r.settings.Percentile {
			s.StabilizingInterval = p.Interval
		}
	}
	if s.Schedule != nil {
		r.fromSchedule(s.Schedule, w, latencies)
	}
	return s
}

func (r *run) warnOfOneRequest(s *Summary) {
	if s.Requests == 1 {
		r.notice("WARNING: Pass contained only one request, so there is no sample latency standard deviation.")
	}
}

func latencyOfSample(s *measure.Sample) float64 { return float64(s.Latency) }

// around returns the interval of a value from its relative width, which is not a number for 0/0.
func around(value, width float64) Interval {
	if math.IsInf(width, 0) || math.IsNaN(width) {
		return Interval{}
	}
	return Interval{max(0, value*(1-width)), value * (1 + width)}
}

// quantiles computes percentiles of a measurement, in ascending order.
type quantiles struct {
	samples []measure.Sample
	batches *measure.Batches
	at      func(rank int) int64 // the latency of a rank
	// inflation is how much wider than that of independent requests an interval was. A high
	// percentile has so few slower requests that their dependence is hard to see. It is not taken
	// to be less than that of the percentiles below.
	inflation float64
}

// percentile returns a percentile and its interval.
func (q *quantiles) percentile(p float64, latency int64) Percentile {
	is := Percentile{P: p, Latency: time.Duration(latency), Samples: len(q.samples)}
	half := q.batches.Mean(q.samples, func(s *measure.Sample) float64 {
		if s.Latency <= latency {
			return 1
		}
		return 0
	}).Half
	if math.IsInf(half, 1) {
		return is
	}
	independent := measure.IndependentHalf(p, len(q.samples))
	q.inflation = max(q.inflation, half/independent, 1)
	low, high := measure.QuantileRanks(p, len(q.samples), q.inflation*independent)
	is.Interval.High = math.Inf(1)
	if low >= 0 {
		is.Interval.Low = float64(q.at(low))
	}
	if high < len(q.samples) {
		is.Interval.High = float64(q.at(high))
	}
	return is
}

// late is the delay after which the start of a request counts as delayed.
const late = time.Millisecond

// lateness computes how late requests started.
func lateness(w *window) *ScheduleStats {
	s := &ScheduleStats{SendRate: measure.Throughput(w.started, w.ns)}
	var delay time.Duration
	for i := range w.samples {
		by := time.Duration(w.samples[i].Late)
		delay += by
		s.MaxLate = max(s.MaxLate, by)
		if by > late {
			s.Delayed++
		}
	}
	if n := len(w.samples); n > 0 {
		s.AvgLate = delay / time.Duration(n)
	}
	return s
}

// fromSchedule computes the latencies from the schedule. It uses the memory of latencies.
func (r *run) fromSchedule(s *ScheduleStats, w *window, latencies []int64) {
	for i := range w.samples {
		latencies[i] = w.samples[i].Late + w.samples[i].Latency
	}
	slices.Sort(latencies)
	if n := len(latencies); n > 0 {
		s.MaxLatency = time.Duration(latencies[n-1])
	}
	s.AvgLatency = time.Duration(measure.Mean(latencies))
	for _, p := range percentiles(r.settings.Percentile) {
		s.Percentiles = append(s.Percentiles, Percentile{P: p, Latency: time.Duration(measure.Percentile(latencies, p)), Samples: len(latencies)})
	}
	s.P999 = Percentile{P: 99.9, Latency: time.Duration(measure.Percentile(latencies, 99.9)), Samples: len(latencies)}
}

func percentiles(extra float64) []float64 {
	ps := []float64{50, 90, 95, 99}
	if extra > 0 && !slices.Contains(ps, extra) {
		ps = append(ps, extra)
		slices.Sort(ps)
	}
	return ps
}
