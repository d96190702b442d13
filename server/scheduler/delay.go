package scheduler

import (
	"sync"
	"time"

	"triton/server/infer"
	"triton/server/stats"
)

// The size of windows. A window lasts at least minTargets times the target latency. It ends
// earlier when so many requests are above the target that the percentile must be, too.
const (
	manyRequests = 1000 // requests that close a window
	fewRequests  = 200  // requests that close a window of longWindow
	longWindow   = 2 * time.Second
	minTargets   = 10
)

// DelayOptions configure a DelayController.
type DelayOptions struct {
	DelayGoal
	Start time.Duration       // the first delay
	Set   func(time.Duration) // applies a delay
}

// DelayController finds the queue delay of a dynamic batcher: the longest delay, and so the largest
// batches, for which the 99th percentile of latency stays below a target. It is an Observer that
// adjusts the delay after each window of answered requests, as stepDelay computes it.
type DelayController struct {
	goal DelayGoal
	set  func(time.Duration)
	mu   struct {
		sync.Mutex
		state   delayState
		started bool
		since   int64 // when the delay was set; requests received earlier do not count
		window  delayWindow
	}
}

// delayWindow collects observations since from.
type delayWindow struct {
	from        int64
	latencies   latencies
	aboveTarget int // latencies above the target
	batches     int
	notFull     int // batches that were not full
}

var _ Observer = (*DelayController)(nil)

// NewDelayController returns a controller and sets the first delay.
func NewDelayController(o DelayOptions) *DelayController {
	c := &DelayController{goal: o.DelayGoal, set: o.Set}
	c.mu.state.Delay = min(o.Start, o.Limit)
	c.set(c.mu.state.Delay)
	return c
}

// Started implements Observer.
func (c *DelayController) Started(int, *infer.Batch, int64) {}

// Ended adds a batch to the window. It skips failed batches, and requests that arrived
// under another delay.
func (c *DelayController) Ended(_ int, b *infer.Batch, execution Execution) {
	if execution.Failed {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w := &c.mu.window
	if !c.mu.started {
		c.mu.started, c.mu.since, w.from = true, execution.Start, execution.Start
	}
	before := w.latencies.n
	for _, r := range b.Requests {
		if r.Membership.Null || r.Times.Received < c.mu.since {
			continue
		}
		latency := execution.End - r.Times.Received
		w.latencies.add(latency)
		if latency > int64(c.goal.Target) {
			w.aboveTarget++
		}
	}
	if w.latencies.n == before {
		return
	}
	w.batches++
	if execution.Why == stats.Delay || execution.Why == stats.Immediate {
		w.notFull++
	}
	if w.enough(c.goal.Target, execution.End) {
		c.closeWindow(execution.End)
	}
}

// enough reports whether the window determines the percentile.
func (w *delayWindow) enough(target time.Duration, now int64) bool {
	n, took := w.latencies.n, time.Duration(now-w.from)
	switch {
	case w.aboveTarget > max(n, manyRequests)/50:
		return true
	case n < fewRequests || took < minTargets*target:
		return false
	}
	return n >= manyRequests || took >= longWindow
}

// closeWindow computes the next state from the window and starts a new one.
func (c *DelayController) closeWindow(now int64) {
	w, before := &c.mu.window, c.mu.state.Delay
	took := time.Duration(max(now-w.from, 1))
	c.mu.state = stepDelay(c.goal, c.mu.state, windowSummary{
		P99:  w.latencies.p99(),
		Rate: float64(w.latencies.n) / took.Seconds(),
		Size: float64(w.latencies.n) / float64(w.batches), NotFull: float64(w.notFull) / float64(w.batches),
	})
	if c.mu.state.Delay != before {
		c.set(c.mu.state.Delay)
		c.mu.since = now
	}
	*w = delayWindow{from: now}
}
