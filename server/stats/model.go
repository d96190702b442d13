// Package stats counts the work of model versions (requests, batches, their durations, failures
// and why batches were closed) and the time that the phases of loads take. Requests only update
// atomics; readers take a snapshot. Snapshot has the names of the protocol, Collector those of
// Prometheus.
package stats

import (
	"sync"
	"sync/atomic"
)

// Failure is the reason why a request failed, the label "reason" of
// nv_inference_request_failure.
type Failure uint8

// The reasons.
const (
	Rejected Failure = iota
	Canceled
	Backend
	Other
	numFailures
)

// String returns the value of the label.
func (f Failure) String() string {
	return [...]string{Rejected: "REJECTED", Canceled: "CANCELED", Backend: "BACKEND", Other: "OTHER"}[f]
}

// Failures returns all reasons.
func Failures() []Failure { return []Failure{Rejected, Canceled, Backend, Other} }

// CloseReason is the reason why a batch was closed and given to an instance.
type CloseReason uint8

// The reasons.
const (
	Immediate CloseReason = iota // there is no delay to wait for
	Preferred                    // a preferred size was reached
	Full                         // no further request fits
	Delay                        // the oldest request had waited for the queue delay
	Shape                        // the next request has other shapes
	Flush                        // the model is being drained
	numCloseReasons
)

// String returns the reason in lower case.
func (c CloseReason) String() string {
	return [...]string{Immediate: "immediate", Preferred: "preferred", Full: "full", Delay: "delay", Shape: "shape", Flush: "flush"}[c]
}

// CloseReasons returns all reasons.
func CloseReasons() []CloseReason {
	return []CloseReason{Immediate, Preferred, Full, Delay, Shape, Flush}
}

// denseSizes is the largest batch size that is counted without a lock.
const denseSizes = 1024

// Model holds the counters of one model version. The embedded DeviceStats has the counters
// of the queue, and of all instances that are not on a GPU with metrics.
type Model struct {
	DeviceStats
	name, version string
	maxBatch      int
	opts          settings

	// Pending is the number of requests that wait in a queue. The scheduler
	// updates it.
	Pending atomic.Int64

	latest atomic.Int64 // end of the latest execution, monotonic
	closed [numCloseReasons]atomic.Uint64
	first  *histogram // of first responses; nil when not kept

	sizes []sizeCounts // index is the batch size
	rare  struct {
		sync.Mutex
		sizes map[int]*sizeCounts
	}
	responses  responses
	extensions extensions
	hits       Duration // in the response cache
	misses     Duration
	cache      *cacheSamples // nil when not kept
	gpus       struct {
		sync.Mutex
		devices []*DeviceStats
	}
}

// Duration counts events and the sum of their durations in nanoseconds.
type Duration struct{ count, ns atomic.Uint64 }

func (d *Duration) add(n int, ns int64) {
	d.count.Add(uint64(n))
	d.ns.Add(uint64(max(ns, 0)))
}

func (d *Duration) read() Count { return Count{d.count.Load(), d.ns.Load()} }

type sizeCounts struct {
	count, input, infer, output atomic.Uint64
}

// NewModel returns counters for a version whose batches have up to maxBatch rows.
func NewModel(name, version string, maxBatch int) *Model {
	m := &Model{name: name, version: version, maxBatch: max(maxBatch, 1)}
	m.sizes = make([]sizeCounts, min(m.maxBatch, denseSizes)+1)
	m.model = m
	return m
}

// Name returns the model's name.
func (m *Model) Name() string { return m.name }

// Version returns the model's version.
func (m *Model) Version() string { return m.version }

// Batch is the result of one execution. The durations are those of the batch; they are
// counted for every successful request.
type Batch struct {
	Rows      int   // of the whole batch
	Requests  int   // successful
	Succeeded int   // rows of the successful requests
	Total     int64 // from received to answered, ns, summed over the successful requests
	Queued    int64 // in the queue, ns, summed over the successful requests
	Input     int64
	Infer     int64
	Output    int64
	End       int64 // infer.Now at the end
}

func (m *Model) size(rows int) *sizeCounts {
	if rows < len(m.sizes) {
		return &m.sizes[rows]
	}
	m.rare.Lock()
	defer m.rare.Unlock()
	s := m.rare.sizes[rows]
	if s == nil {
		if m.rare.sizes == nil {
			m.rare.sizes = map[int]*sizeCounts{}
		}
		s = &sizeCounts{}
		m.rare.sizes[rows] = s
	}
	return s
}

// BatchFormed counts a batch that was given to an instance.
func (m *Model) BatchFormed(why CloseReason) { m.closed[why].Add(1) }
