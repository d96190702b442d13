package perf

import "time"

// Report is the result of a run.
type Report struct {
	Settings Settings
	Levels   []Level // stable and within the latency limit, in the order measured
	// Failed are the levels that were not stable or over the latency limit.
	Failed      []Level
	Interrupted bool
	// Unstable is set when the only level visited was not stable.
	Unstable bool
}

// Settings is the configuration of a run with what the server reported.
type Settings struct {
	Config
	Protocol     string // HTTP or gRPC
	ServerStats  bool   // the server has statistics
	Ensemble     bool
	Cache        bool // the model or one of its composing models uses the response cache
	TopCache     bool // the model itself uses it
	MaxBatchSize int
}

// Level is one batch size at one concurrency.
type Level struct {
	Batch       int
	Concurrency int
	Stable      bool
	OverLimit   bool
	Incomplete  bool // interrupted
	Trials      int  // windows measured
	Summary
}

// Percentile is one latency percentile.
type Percentile struct {
	P       int
	Latency time.Duration
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

	Client   ClientTimes
	Overhead float64 // percent of the time in which workers had no request in flight
	Server   *ServerStats
	GPU      *GPUStats
}

// Latency returns the latency of percentile p, 0 if it was not computed.
func (s *Summary) Latency(p int) time.Duration {
	for _, q := range s.Percentiles {
		if q.P == p {
			return q.Latency
		}
	}
	return 0
}

// ClientTimes are averages over the requests that completed in the windows.
type ClientTimes struct {
	Completed              uint64
	Request, Send, Receive time.Duration
}

// ServerStats are the server's own counters over the windows.
type ServerStats struct {
	Model, Version string
	Inferences     uint64
	Executions     uint64

	Success, Queue             Duration
	ComputeInput, ComputeInfer Duration
	ComputeOutput              Duration
	CacheHit, CacheMiss        Duration
	// Composing are the composing models of an ensemble, ordered by name and version.
	Composing []ServerStats
	Cache     bool // this model uses the response cache
	Ensemble  bool
}

// Duration is a statistic of the protocol: a count and the total time.
type Duration struct{ Count, Ns uint64 }

// GPUStats are the server's GPU gauges by UUID.
type GPUStats struct {
	Utilization, Power      map[string]float64 // means; 0 to 1 and watts
	MemoryUsed, MemoryTotal map[string]float64 // bytes; maximum and first seen
}
