// Package perf measures a model on a server the way perf_analyzer does: load at
// a concurrency, windows until throughput and latency are stable, a sweep or a
// search over levels. It is a library: it prints nothing, reads no flags and
// knows no printers; what happens is told to an Observer and returned as a
// Report.
package perf

import (
	"context"
	"time"

	"triton/perf/data"
)

// Range is a run of levels, both ends included. End 0 means no end: the
// latency limit stops the sweep.
type Range struct{ Start, End, Step int }

// Search is how levels are chosen from the range.
type Search uint8

// The ways to search.
const (
	Linear Search = iota
	Binary
)

// Windows is what bounds a measurement window.
type Windows uint8

// The kinds of windows.
const (
	TimeWindows Windows = iota
	CountWindows
)

// Config says what to measure. Zero values are not defaults; start from
// DefaultConfig.
type Config struct {
	Model   string
	Version string // empty: the server's choice

	Batches     []int // batch sizes to sweep; one is perf_analyzer's -b
	Concurrency Range
	Search      Search
	Async       bool // only how stability is judged and what is printed
	Sync        bool // asked for explicitly

	Windows      Windows
	Interval     time.Duration // of a time window; the real one is 1.2 times as long
	Samples      int           // requests in a count window
	Stability    float64       // how far windows may lie apart, 0.1 is 10 %
	MaxTrials    int
	Percentile   int           // the latency that is judged; 0 is the average
	LatencyLimit time.Duration // 0: none

	RequestCount int // stop after as many requests, one window; 0: off
	WarmupCount  int

	Data data.Options

	CollectMetrics  bool
	MetricsURL      string
	MetricsInterval time.Duration

	// Extra detail in what observers get: the live view's running histogram.
	Live bool
}

// DefaultConfig is what perf_analyzer does without options.
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

// Deps are what a run needs from outside.
type Deps struct {
	// Dial opens the target; Run closes it.
	Dial func(ctx context.Context) (Target, error)
	// Observer is told what happens, from the goroutine of Run; may be nil.
	Observer Observer
	// Interrupt, when closed, ends the level and still reports it. Cancelling
	// the context instead stops at once.
	Interrupt <-chan struct{}
}
