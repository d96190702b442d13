// Package perf measures a model on a server as perf_analyzer does: it keeps a number of
// requests in flight or sends them at a rate, measures windows until throughput and latency
// are stable, and sweeps or searches over levels. It prints nothing and reads no flags: it
// reports events to an Observer and returns a Report.
package perf

import (
	"context"
	"fmt"
	"time"

	"triton/perf/data"
	"triton/perf/load"
	"triton/pkg/client"
	"triton/pkg/cuda"
	"triton/pkg/kserve"
	"triton/pkg/measure"
)

// Range holds the levels of a sweep: those of List, or else from Start to End, both
// included. End 0 means no end: the latency limit stops the sweep.
type Range struct {
	Start, End, Step float64
	List             []float64
}

// Mode is how the requests of a level are started.
type Mode uint8

// The modes.
const (
	Concurrency   Mode = iota // a number of requests in flight
	RequestRate               // requests per second
	Intervals                 // at given intervals
	FixedSchedule             // at the times of the data, each step once
	Periodic                  // groups of requests, each after a number of responses to the one before
	Sessions                  // a number of sessions, in each of which a request follows an answer
)

// Rate reports whether requests start at the times of a schedule.
func (m Mode) Rate() bool { return m == RequestRate || m == Intervals || m == FixedSchedule }

// Once reports whether a mode sends each of its requests once and is over then.
func (m Mode) Once() bool { return m == FixedSchedule || m == Periodic || m == Sessions }

// Distribution is the distribution of the intervals between the requests of a rate.
type Distribution uint8

// The distributions.
const (
	Constant Distribution = iota
	Poisson
)

// Load is the load of a level: a number of requests in flight, or requests per second.
type Load struct {
	Mode  Mode
	Value float64
}

// Concurrency returns the number of requests in flight, 0 in the other modes.
func (l Load) Concurrency() int {
	if l.Mode != Concurrency {
		return 0
	}
	return int(l.Value)
}

// String describes the load for people.
func (l Load) String() string {
	switch l.Mode {
	case Concurrency:
		return fmt.Sprintf("concurrency %d", l.Concurrency())
	case RequestRate:
		return fmt.Sprintf("request rate %.6g", l.Value)
	case Periodic:
		return fmt.Sprintf("periodic concurrency %.6g", l.Value)
	case Sessions:
		return fmt.Sprintf("session concurrency %.6g", l.Value)
	default:
		return "schedule"
	}
}

// Search is the order in which levels are chosen from the range.
type Search uint8

// The searches.
const (
	Linear Search = iota
	Binary
)

// Windows is the kind of measurement windows: bounded by time or by count.
type Windows uint8

// The kinds of windows.
const (
	TimeWindows Windows = iota
	CountWindows
)

// Config describes a measurement. Zero values are not defaults; start from
// DefaultConfig.
type Config struct {
	Model   string
	Version string // empty: the server's choice

	// ServiceKind is the kind of the server in perf_analyzer's words, for reports.
	ServiceKind string

	Batches []int // batch sizes to sweep; perf_analyzer accepts only one
	// Batching is set when the user names batch sizes, also when it is only 1.
	Batching bool
	Mode     Mode
	Range    Range // concurrencies or rates; in mode Periodic requests in flight; in mode Sessions one number
	Period   int   // in mode Periodic, the responses after which the next group starts
	Search   Search
	// Repeats is how often the whole sweep is measured, one after the other, so that the repeats of a level
	// are spread over the whole time of the run. 0 means 1.
	Repeats int
	// Async lets throughput alone decide stability: of the windows after the last one, of StopWhen all
	// along. The report names the calls asynchronous.
	Async bool
	Sync  bool // synchronous calls were requested explicitly

	Parameters []kserve.Parameter // of every request
	// Composing lists models that the model calls, in addition to the steps of an ensemble.
	Composing []Composing
	// Trace are trace settings of the server during the run.
	Trace client.TraceSettings

	Streaming bool // the target of Deps.Dial sends over gRPC streams

	Distribution Distribution    // of mode RequestRate
	Intervals    []time.Duration // of mode Intervals
	MaxInFlight  int             // maximum of requests with a rate or intervals; 0: the default of load.Options
	Seed         uint64          // of the distribution, of random data and of sequences

	Sequences Sequences

	Windows   Windows
	Interval  time.Duration // of a time window; the real one is 1.2 times as long
	Samples   int           // requests in a count window
	Stability float64       // maximum spread across three consecutive windows; 0.1 is 10 %
	MaxTrials int
	// StopWhen ends a level when its confidence intervals are as narrow as these goals, instead
	// of when three windows agree. The time limit is that of MaxTrials windows.
	StopWhen []Goal
	// StopBelow ends a level with goals as soon as its throughput is below this with confidence, in
	// inferences per second; 0: off.
	StopBelow    float64
	Percentile   float64       // of the latency that decides stability; 0 is the average
	LatencyLimit time.Duration // 0: no limit

	// Speed divides the times of a fixed schedule: with 2 it takes half the time. 0 means 1.
	Speed float64

	// RequestCount ends the run after this many requests, in one window; 0: off. With a fixed
	// schedule it is the number of its requests after the warm-up.
	RequestCount int
	WarmupCount  int

	// TolerateErrors counts requests that the server refuses, in Summary.Errors. Without it the
	// first one ends the run.
	TolerateErrors bool

	Data data.Options

	Memory MemoryKind // of the tensors
	// OutputMemory is the size of shared memory, in bytes per item, for an output whose size
	// varies.
	OutputMemory int

	CollectMetrics  bool
	MetricsURL      string
	MetricsInterval time.Duration

	// Profile keeps every request and its responses, for Level.Profile.
	Profile bool
	// Live keeps a running histogram for Progress.
	Live bool
}

// Composing names a model that another model calls; an empty version is the server's choice.
type Composing struct{ Model, Version string }

// DefaultConfig returns the configuration of perf_analyzer without options.
func DefaultConfig(model string) Config {
	return Config{
		Model:           model,
		ServiceKind:     "triton",
		Period:          10,
		Batches:         []int{1},
		Range:           Range{Start: 1, End: 1, Step: 1},
		Sequences:       DefaultSequences(),
		Interval:        5 * time.Second,
		Samples:         50,
		Stability:       0.1,
		MaxTrials:       10,
		Data:            data.DefaultOptions(),
		OutputMemory:    100 << 10,
		MetricsInterval: time.Second,
	}
}

// Deps are the dependencies of a run.
type Deps struct {
	// Dial opens the target; Run closes it.
	Dial func(ctx context.Context) (Target, error)
	// Profiled receives the requests of each level, on the goroutine of Run; may be nil.
	Profiled func(*Level, *Profile) error
	// Observer receives events on the goroutine of Run; may be nil.
	Observer Observer
	// Alarm makes the alarm that starts requests with a schedule; nil means
	// load.TimerAlarm.
	Alarm func(stop <-chan struct{}) load.Alarm
	// Usage reads how busy this process and the machine are; nil: Summary.Process is not set.
	Usage func() measure.Usage
	// RoundTrips measures the pace of the machine, as measure.RoundTrips does; nil: it is not measured.
	RoundTrips func(during time.Duration, stop <-chan struct{}) float64
	// Shared says that other runs load the machine at the same time: what other programs use is not known then.
	Shared bool
	// OneThread is called with true before a load that one thread can send, and with false when it is
	// over or turns out to need more, so that the process may run on one thread meanwhile. It needs
	// Usage, which shows the need; may be nil.
	OneThread func(bool)
	// OpenGPU opens the driver for CUDAMemory; nil means that of this machine.
	OpenGPU func() (cuda.Allocator, error)
	// Interrupt, when closed, ends the level and still reports it. Cancelling
	// the context instead stops at once.
	Interrupt <-chan struct{}
}
