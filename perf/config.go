// Package perf measures a model on a server as perf_analyzer does: it keeps a number of
// requests in flight, measures windows until throughput and latency are stable, and sweeps
// or searches over levels. It prints nothing and reads no flags: it reports events to
// an Observer and returns a Report.
package perf

import (
	"context"
	"time"

	"triton/perf/data"
)

// Range is a range of concurrencies, both ends included. End 0 means no end: the
// latency limit stops the sweep.
type Range struct{ Start, End, Step int }

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

	Batches     []int // batch sizes to sweep; perf_analyzer accepts only one
	Concurrency Range
	Search      Search
	Async       bool // throughput alone decides stability; the report names the calls asynchronous
	Sync        bool // synchronous calls were requested explicitly

	Windows      Windows
	Interval     time.Duration // of a time window; the real one is 1.2 times as long
	Samples      int           // requests in a count window
	Stability    float64       // maximum spread across three consecutive windows; 0.1 is 10 %
	MaxTrials    int
	Percentile   int           // of the latency that decides stability; 0 is the average
	LatencyLimit time.Duration // 0: no limit

	RequestCount int // stop after this many requests, in one window; 0: off
	WarmupCount  int

	Data data.Options

	CollectMetrics  bool
	MetricsURL      string
	MetricsInterval time.Duration

	// Live keeps a running histogram for Progress.
	Live bool
}

// DefaultConfig returns the configuration of perf_analyzer without options.
func DefaultConfig(model string) Config {
	return Config{
		Model:           model,
		Batches:         []int{1},
		Concurrency:     Range{1, 1, 1},
		Interval:        5 * time.Second,
		Samples:         50,
		Stability:       0.1,
		MaxTrials:       10,
		Data:            data.DefaultOptions(),
		MetricsInterval: time.Second,
	}
}

// Deps are the dependencies of a run.
type Deps struct {
	// Dial opens the target; Run closes it.
	Dial func(ctx context.Context) (Target, error)
	// Observer receives events on the goroutine of Run; may be nil.
	Observer Observer
	// Interrupt, when closed, ends the level and still reports it. Cancelling
	// the context instead stops at once.
	Interrupt <-chan struct{}
}
