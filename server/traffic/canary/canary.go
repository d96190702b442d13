// Package canary decides how large the share of a canary is: it compares the errors and the latency
// of the canary with those of the stable target in the same time, advances by steps, and rolls back.
// It does not choose targets of requests.
package canary

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/routing"
)

// Options describe a canary.
type Options struct {
	Config *routing.Canary
	Now    time.Time
	// From is the state to go on from; nil: the first step.
	From *Saved
}

// Saved is the state of a canary before a restart. What the targets have answered in the step is not
// kept: the step begins again.
type Saved struct {
	State  routing.CanaryState
	Step   int // from 1
	Since  time.Time
	Reason string
}

// Canary is the state of a canary. Its methods may be called from any goroutine.
type Canary struct {
	config *routing.Canary
	steps  []float64
	limits limits

	windows atomic.Pointer[windows]

	mu     sync.Mutex
	state  routing.CanaryState
	step   int
	since  time.Time // start of the step or of the state
	looks  int       // comparisons in this step
	next   int64     // number of requests to the canary at which the next comparison is due
	reason string
	// before has the stable target's answers of the step before, for the step at 100 %, in which
	// the stable target has none.
	before *sample
}

// windows are what the two targets answer in the current step.
type windows struct{ stable, canary window }

// firstLook is the number of requests to the canary at which the first comparison of a step is
// made. The next ones follow when the number has doubled.
const firstLook = 20

// New returns a canary.
func New(o Options) *Canary {
	c := &Canary{
		config: o.Config, steps: o.Config.CanarySteps(), state: routing.CanaryProgressing,
		limits: limits{o.Config.ErrorIncrease(), o.Config.P99Ratio()},
	}
	c.begin(0, o.Now)
	if o.From != nil {
		c.resume(o.From, o.Now)
	}
	return c
}

// resume goes on from a state; one that is not possible is the first step.
func (c *Canary) resume(from *Saved, now time.Time) {
	if from.Step < 1 || from.Step > len(c.steps) {
		return
	}
	c.begin(from.Step-1, now)
	if from.State == routing.CanaryRolledBack || from.State == routing.CanaryPromoted {
		c.end(from.State, from.Reason, from.Since)
	}
}

// begin starts a step.
func (c *Canary) begin(step int, now time.Time) {
	c.step, c.since, c.looks, c.next = step, now, 0, firstLook
	c.windows.Store(&windows{})
}

// Weight returns the canary's share in percent.
func (c *Canary) Weight() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight()
}

func (c *Canary) weight() float64 {
	if c.state == routing.CanaryRolledBack {
		return 0
	}
	if c.state == routing.CanaryPromoted {
		return c.steps[len(c.steps)-1]
	}
	return c.steps[c.step]
}

// Record is where the answer of a request is counted.
type Record struct {
	windows *windows
	canary  bool
}

// Choose returns where the answer of a request is counted that was sent to the canary or to the
// stable target.
func (c *Canary) Choose(canary bool) Record { return Record{c.windows.Load(), canary} }

// Add counts the answer; the zero Record counts nothing.
func (r Record) Add(ns int64, failed bool) {
	switch {
	case r.windows == nil:
	case r.canary:
		r.windows.canary.record(ns, failed)
	default:
		r.windows.stable.record(ns, failed)
	}
}

// Tick compares the targets and reports whether the canary's state or share has changed. missing
// says what is not ready; empty: both targets are.
func (c *Canary) Tick(now time.Time, missing string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == routing.CanaryRolledBack || c.state == routing.CanaryPromoted:
		return false
	case missing != "":
		changed = c.state != routing.CanaryWaiting
		c.state, c.reason = routing.CanaryWaiting, missing
		return changed
	case c.state == routing.CanaryWaiting:
		c.state, c.reason = routing.CanaryProgressing, ""
		c.begin(c.step, now) // the time without a target does not count
		return true
	}
	return c.progress(now)
}

// progress compares the targets if that is due, and ends the step if it has passed.
func (c *Canary) progress(now time.Time) (changed bool) {
	w := c.windows.Load()
	n, stable := w.canary.requests.Load(), w.stable.requests.Load()
	c.reason = c.lacks(n, stable, now)
	passed := c.reason == ""
	if n < c.next && !passed {
		return false
	}
	s, k := w.stable.sample(), w.canary.sample()
	reference := &s
	if c.alone() && c.before != nil {
		reference = c.before
	}
	c.looks++
	c.next = 2 * n
	// The levels of all comparisons of a step add up to less than Alpha.
	alpha := c.config.Alpha() / float64(c.looks*(c.looks+1))
	if harm := c.limits.harm(reference, &k, alpha); harm != "" {
		c.end(routing.CanaryRolledBack, harm, now)
		return true
	}
	if !passed {
		return false
	}
	if c.step == len(c.steps)-1 {
		c.end(routing.CanaryPromoted, "all steps have passed", now)
		return true
	}
	if !c.alone() {
		c.before = &s
	}
	c.begin(c.step+1, now)
	return true
}

// alone reports whether the canary gets all requests.
func (c *Canary) alone() bool { return c.steps[c.step] == 100 }

// lacks returns what the step still lacks; empty: nothing.
func (c *Canary) lacks(canary, stable int64, now time.Time) string {
	need := c.config.Samples()
	switch left := c.config.StepTime() - now.Sub(c.since); {
	case canary < need:
		return fmt.Sprintf("the canary has answered %d of %d requests of this step", canary, need)
	case stable < need && !c.alone():
		return fmt.Sprintf("the stable target has answered %d of %d requests of this step", stable, need)
	case left > 0:
		return fmt.Sprintf("the step lasts %s longer", left.Round(time.Second))
	}
	return ""
}

func (c *Canary) end(s routing.CanaryState, reason string, now time.Time) {
	c.state, c.reason, c.since = s, reason, now
}

// Promote gives the canary the share of its last step.
func (c *Canary) Promote(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(routing.CanaryPromoted, "promoted by a command", now)
}

// Rollback takes the canary's share away.
func (c *Canary) Rollback(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(routing.CanaryRolledBack, "rolled back by a command", now)
}

// Status returns the state.
func (c *Canary) Status() *routing.CanaryStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.windows.Load()
	return &routing.CanaryStatus{
		State: c.state, Step: c.step + 1, Steps: len(c.steps), Weight: c.weight(), Since: c.since, Reason: c.reason,
		Stable: w.stable.status(), Canary: w.canary.status(),
	}
}

func (w *window) status() routing.Window {
	s := w.sample()
	low, high := s.interval(p99, 0.025)
	if math.IsInf(high, 1) {
		high = 0
	}
	return routing.Window{
		Requests: s.requests, Failed: s.failed,
		P99: s.quantile(p99) / 1e3, P99Low: low / 1e3, P99High: high / 1e3,
	}
}

// Config returns the configuration; read-only.
func (c *Canary) Config() *routing.Canary { return c.config }
