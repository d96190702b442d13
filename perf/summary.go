package perf

import (
	"math"
	"slices"
	"time"

	"triton/pkg/measure"
)

// summarize computes the figures of a window.
func (r *run) summarize(w *window, batch int) Summary {
	s := Summary{
		Requests: len(w.samples),
		Duration: time.Duration(w.ns),
		Overhead: w.overhead,
		Server:   w.server,
		GPU:      w.gpu,
		StdDev:   math.MaxUint64,
	}
	s.Throughput = measure.Throughput(uint64(s.Requests)*uint64(max(batch, 1)), w.ns)
	latencies := make([]int64, len(w.samples))
	for i, sample := range w.samples {
		latencies[i] = sample.Latency
		s.Responses += int(sample.Responses)
		if sample.SequenceEnd {
			s.Sequences++
		}
	}
	s.ResponseThroughput = measure.Throughput(uint64(s.Responses), w.ns)
	s.AvgLatency, s.Percentiles = r.latencies(latencies)
	s.StdDev = measure.StdDevMicros(latencies)
	if s.Requests == 1 {
		r.notice("WARNING: Pass contained only one request, so sample latency standard deviation will be infinity (UINT64_MAX).")
	}
	s.Stabilizing = s.AvgLatency
	if p := r.settings.Percentile; p > 0 {
		s.Stabilizing = s.Latency(p)
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
	if r.settings.Mode.Rate() {
		s.Schedule = r.schedule(w, latencies)
	}
	return s
}

// late is the delay after which the start of a request counts as delayed.
const late = time.Millisecond

// schedule computes how well the schedule was kept. It uses the memory of latencies.
func (r *run) schedule(w *window, latencies []int64) *ScheduleStats {
	s := &ScheduleStats{SendRate: measure.Throughput(w.started, w.ns)}
	for i, sample := range w.samples {
		latencies[i] = sample.Late + sample.Latency
		s.MaxLate = max(s.MaxLate, time.Duration(sample.Late))
		if time.Duration(sample.Late) > late {
			s.Delayed++
		}
	}
	s.AvgLatency, s.Percentiles = r.latencies(latencies)
	return s
}

// latencies sorts latencies and returns their mean and percentiles.
func (r *run) latencies(list []int64) (mean time.Duration, all []Percentile) {
	slices.Sort(list)
	for _, p := range percentiles(r.settings.Percentile) {
		all = append(all, Percentile{P: p, Latency: time.Duration(measure.Percentile(list, p)), Samples: len(list)})
	}
	return time.Duration(measure.Mean(list)), all
}

func percentiles(extra float64) []float64 {
	ps := []float64{50, 90, 95, 99}
	if extra > 0 && !slices.Contains(ps, extra) {
		ps = append(ps, extra)
		slices.Sort(ps)
	}
	return ps
}
