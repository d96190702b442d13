// Package adaptive finds the queue delay of a dynamic batcher: the longest one,
// and so the largest batches, with which the 99th percentile of latency stays
// below a target. Step decides, from one window of observations to the next;
// Controller collects those from the instances.
package adaptive

import (
	"sync"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// The size of windows. None is shorter than spans targets, unless it has so many
// requests above the target that no more can bring the percentile below it.
const (
	manyRequests = 1000 // close a window
	fewRequests  = 200  // close it after longWindow
	longWindow   = 2 * time.Second
	spans        = 10
)

// Options say what a Controller does.
type Options struct {
	Goal
	Start time.Duration       // the first delay
	Set   func(time.Duration) // makes a delay count
}

// Controller adjusts the delay after each window of requests that were answered.
type Controller struct {
	goal Goal
	set  func(time.Duration)
	mu   struct {
		sync.Mutex
		state  State
		begun  bool
		since  int64 // requests that came before had another delay
		window window
	}
}

// window is what was seen since from.
type window struct {
	from      int64
	latencies latencies
	late      int // of them, above the target
	batches   int
	waited    int
}

var _ scheduler.Observer = (*Controller)(nil)

// New makes a controller and sets the first delay.
func New(o Options) *Controller {
	c := &Controller{goal: o.Goal, set: o.Set}
	c.mu.state.Delay = min(o.Start, o.Limit)
	c.set(c.mu.state.Delay)
	return c
}

// Began is for scheduler.Observer.
func (c *Controller) Began(int, *infer.Batch, int64) {}

// Ended adds a batch to the window. One that failed says nothing of latency, nor
// do requests of this delay that waited under another one.
func (c *Controller) Ended(_ int, b *infer.Batch, did scheduler.Ran) {
	if did.Failed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.mu.window
	if !c.mu.begun {
		c.mu.begun, c.mu.since, w.from = true, did.Begin, did.Begin
	}
	before := w.latencies.n
	for _, r := range b.Requests {
		if r.Member.Null || r.Times.Received < c.mu.since {
			continue
		}
		latency := did.End - r.Times.Received
		w.latencies.add(latency)
		if latency > int64(c.goal.Target) {
			w.late++
		}
	}
	if w.latencies.n == before {
		return
	}
	w.batches++
	if did.Why == stats.Delay || did.Why == stats.Immediate {
		w.waited++
	}
	if w.enough(c.goal.Target, did.End) {
		c.close(did.End)
	}
}

// enough says whether the window tells the percentile.
func (w *window) enough(target time.Duration, now int64) bool {
	n, took := w.latencies.n, time.Duration(now-w.from)
	switch {
	case w.late > max(n, manyRequests)/50:
		return true
	case n < fewRequests || took < spans*target:
		return false
	}
	return n >= manyRequests || took >= longWindow
}

// close takes a step.
func (c *Controller) close(now int64) {
	w, before := &c.mu.window, c.mu.state.Delay
	took := time.Duration(max(now-w.from, 1))
	c.mu.state = Step(c.goal, c.mu.state, Window{
		P99:  w.latencies.p99(),
		Rate: float64(w.latencies.n) / took.Seconds(),
		Size: float64(w.latencies.n) / float64(w.batches), Waited: float64(w.waited) / float64(w.batches),
	})
	if c.mu.state.Delay != before {
		c.set(c.mu.state.Delay)
		c.mu.since = now
	}
	*w = window{from: now}
}
