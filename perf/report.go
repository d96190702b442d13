package perf

import (
	"cmp"
	"slices"
	"sort"
	"time"
)

// Report is the result of a run.
type Report struct {
	Settings Settings
	// Levels are those that are stable and within the latency limit, and one that was interrupted with
	// requests, in the order measured.
	Levels []Level
	// Failed are the levels that were not stable or over the latency limit.
	Failed      []Level
	Interrupted bool
	// Unstable is set when a level was not stable.
	Unstable bool
}

// Measured returns the levels with figures to report: those of Levels, and those that did not
// become stable, in the order measured.
func (r *Report) Measured() []Level {
	all := slices.Clone(r.Levels)
	for _, l := range r.Failed {
		if !l.Stable && l.Requests > 0 {
			all = append(all, l)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	return all
}

// All returns all levels in the order measured.
func (r *Report) All() []*Level {
	all := make([]*Level, 0, len(r.Levels)+len(r.Failed))
	for _, levels := range [][]Level{r.Levels, r.Failed} {
		for i := range levels {
			all = append(all, &levels[i])
		}
	}
	slices.SortStableFunc(all, func(a, b *Level) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// ClientLimited reports whether the client limited a level, or sent the requests of a schedule late.
func (r *Report) ClientLimited() bool {
	return slices.ContainsFunc(r.Measured(), func(l Level) bool { return l.ClientLimit != "" || l.Late != "" })
}

// Settings is the configuration of a run with what the server reported.
type Settings struct {
	Config
	Protocol     string // HTTP or gRPC; empty: see InProcess
	ServerStats  bool   // the server has statistics
	Ensemble     bool
	Cache        bool // the model or one of its composing models uses the response cache
	TopCache     bool // the model itself uses it
	Sequence     bool // requests belong to sequences
	Decoupled    bool // requests have any number of responses
	MaxBatchSize int
}

// InProcess reports whether the server is in this process.
func (s *Settings) InProcess() bool { return s.Protocol == "" }

// Level is one batch size under one load.
type Level struct {
	Number int // in the order measured, from 1
	Batch  int
	Load   Load
	Repeat int // of Config.Repeats, from 1; 0: the level is measured once
	// Stable says that enough was measured: the windows agree, the goals are met, the level is surely too
	// slow for Config.LatencyLimit or Config.StopBelow, all of Config.RequestCount were answered, or the level
	// has so many repeats that they decide: see Repeated.
	Stable     bool
	OverLimit  bool     // stable, and not below Config.LatencyLimit
	Incomplete bool     // interrupted
	Trials     int      // windows measured
	Profile    *Profile // with Config.Profile
	Detail     Detail
	WarmUp     WarmUp
	// Spread is that of the last windows, which the stability limit is compared with.
	Spread Spread
	// Widths are those of the goals of Config.StopWhen.
	Widths []Width
	Grade  Grade
	// ClientLimit says why the figures are those of the client rather than of the server, and by
	// how much; Late says how many requests of a schedule were late. They are empty otherwise.
	ClientLimit, Late string
	Summary
}

// Problem returns why the level does not count, empty if it does.
func (l *Level) Problem() string {
	switch {
	case l.Incomplete:
		return "interrupted"
	case !l.Stable:
		return "not stable"
	case l.OverLimit:
		return "over the latency limit"
	}
	return ""
}

// WarmUp is what the level sent before its first window. No figure counts it.
type WarmUp struct {
	Requests int // completed
	Duration time.Duration
	Limit    bool // not every worker had received a response after the length of a window
}

// Percentile is one latency percentile.
type Percentile struct {
	P       float64
	Latency time.Duration
	// Interval is the confidence interval of the latency, in nanoseconds. It has no upper end if
	// too few requests were slower.
	Interval Interval
	Samples  int // requests that the percentile is computed from
}

// Summary holds the figures of one window or of the windows of a level.
type Summary struct {
	Requests   int // complete within the window
	Duration   time.Duration
	Throughput float64 // inferences per second: requests times batch size

	AvgLatency  time.Duration
	StdDev      uint64       // microseconds; MaxUint64 with one sample
	Percentiles []Percentile // ascending; 50, 90, 95, 99 and Config.Percentile
	// Stabilizing is the latency that decides stability: the average or a percentile.
	Stabilizing time.Duration

	P999       Percentile // p99.9
	MaxLatency time.Duration
	// Confidence intervals of Throughput and, in nanoseconds, of AvgLatency.
	ThroughputInterval, AvgInterval Interval
	// StabilizingInterval is that of Stabilizing.
	StabilizingInterval Interval
	// Errors is the number of failed requests. They end the run, except with
	// Config.TolerateErrors.
	Errors uint64
	// Process is how busy the client was; nil without Deps.Usage.
	Process *Process

	Sequences int // sequences that ended
	// Responses is the number of responses with outputs: one for each request, unless the
	// model is decoupled.
	Responses          int
	ResponseThroughput float64 // per second
	Schedule           *ScheduleStats

	Client   ClientTimes
	Overhead float64 // percent of the time in which workers had no request in flight
	Server   *ServerStats
	GPU      *GPUStats
}

// ScheduleStats says how well the client kept its schedule.
type ScheduleStats struct {
	SendRate float64 // requests per second that started
	Delayed  int     // requests that started more than a millisecond late
	MaxLate  time.Duration
	AvgLate  time.Duration
	// Latencies from the scheduled start of a request to its end. Those of Summary begin
	// when the request was sent.
	AvgLatency  time.Duration
	Percentiles []Percentile
	P999        Percentile
	MaxLatency  time.Duration
}

// Latency returns the latency of percentile p, 0 if it was not computed.
func (s *Summary) Latency(p float64) time.Duration { return latencyOf(s.Percentiles, p) }

// Latency returns the latency of percentile p from the schedule, 0 if it was not computed.
func (s *ScheduleStats) Latency(p float64) time.Duration { return latencyOf(s.Percentiles, p) }

func latencyOf(list []Percentile, p float64) time.Duration { return percentileOf(list, p).Latency }

// percentileOf returns percentile p, the zero Percentile if it was not computed.
func percentileOf(list []Percentile, p float64) Percentile {
	for _, q := range list {
		if q.P == p {
			return q
		}
	}
	return Percentile{}
}

// ClientTimes are averages over the requests that completed in the windows; 0 for decoupled
// models.
type ClientTimes struct {
	Completed              uint64
	Request, Send, Receive time.Duration
}

// ServerStats are the server's own counters over the windows.
type ServerStats struct {
	Model, Version string
	Inferences     uint64
	Executions     uint64

	Success, Queue             Statistic
	ComputeInput, ComputeInfer Statistic
	ComputeOutput              Statistic
	CacheHit, CacheMiss        Statistic
	Batches                    []BatchStats // by ascending size
	// Composing are the composing models of an ensemble, ordered by name and version.
	Composing []ServerStats
	Cache     bool // this model uses the response cache
	Ensemble  bool
}

// Statistic is a statistic of the protocol: a count and the total time.
type Statistic struct{ Count, Ns uint64 }

// BatchStats are the executions of one batch size.
type BatchStats struct {
	Size         uint64 // rows
	Executions   uint64
	ComputeInput Statistic
	ComputeInfer Statistic
	// ComputeOutput has the time for the outputs of the whole batch, as the others for it.
	ComputeOutput Statistic
}

// GPUStats are the server's GPU gauges by UUID.
type GPUStats struct {
	Utilization, Power      map[string]float64 // means; 0 to 1 and watts
	MemoryUsed, MemoryTotal map[string]float64 // bytes; maximum and first seen
}
