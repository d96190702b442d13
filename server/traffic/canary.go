package traffic

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"triton/pkg/trafficrules"
)

// canaryOptions describe a canary.
type canaryOptions struct {
	Config *trafficrules.Canary
	Now    time.Time
	// From is the state to go on from; nil: the first step.
	From *savedCanary
}

// savedCanary is the state of a canary before a restart. What the targets have answered in the step
// is not kept: the step begins again.
type savedCanary struct {
	State  trafficrules.CanaryState
	Step   int // from 1
	Since  time.Time
	Reason string
}

// canary decides how large the share of a canary is: it compares the errors and the latency of the
// canary with those of the stable target in the same time, advances by steps, and rolls back. It does
// not choose targets of requests. Its methods may be called from any goroutine.
type canary struct {
	config *trafficrules.Canary
	steps  []float64
	limits canaryLimits

	windows atomic.Pointer[canaryWindows]

	mu     sync.Mutex
	state  trafficrules.CanaryState
	step   int
	since  time.Time // start of the step or of the state
	looks  int       // comparisons in this step
	next   int64     // number of requests to the canary at which the next comparison is due
	reason string
	// before has the stable target's answers of the step before, for the step at 100 %, in which
	// the stable target has none.
	before *canarySample
}

// canaryWindows are what the two targets answer in the current step.
type canaryWindows struct{ stable, canary canaryWindow }

// firstLook is the number of requests to the canary at which the first comparison of a step is
// made. The next ones follow when the number has doubled.
const firstLook = 20

// newCanary returns a canary.
func newCanary(o canaryOptions) *canary {
	c := &canary{
		config: o.Config, steps: o.Config.CanarySteps(), state: trafficrules.CanaryProgressing,
		limits: canaryLimits{o.Config.ErrorIncrease(), o.Config.P99Ratio()},
	}
	c.begin(0, o.Now)
	if o.From != nil {
		c.resume(o.From, o.Now)
	}
	return c
}

// resume goes on from a state; one that is not possible is the first step.
func (c *canary) resume(from *savedCanary, now time.Time) {
	if from.Step < 1 || from.Step > len(c.steps) {
		return
	}
	c.begin(from.Step-1, now)
	if from.State == trafficrules.CanaryRolledBack || from.State == trafficrules.CanaryPromoted {
		c.end(from.State, from.Reason, from.Since)
	}
}

// begin starts a step.
func (c *canary) begin(step int, now time.Time) {
	c.step, c.since, c.looks, c.next = step, now, 0, firstLook
	c.windows.Store(&canaryWindows{})
}

// Weight returns the canary's share in percent.
func (c *canary) Weight() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.weight()
}

func (c *canary) weight() float64 {
	if c.state == trafficrules.CanaryRolledBack {
		return 0
	}
	if c.state == trafficrules.CanaryPromoted {
		return c.steps[len(c.steps)-1]
	}
	return c.steps[c.step]
}

// sample is where the answer of a request is counted.
type sample struct {
	windows *canaryWindows
	canary  bool
}

// Choose returns where the answer of a request is counted that was sent to the canary or to the
// stable target.
func (c *canary) Choose(canary bool) sample { return sample{c.windows.Load(), canary} }

// Add counts the answer; the zero sample counts nothing.
func (r sample) Add(ns int64, failed bool) {
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
func (c *canary) Tick(now time.Time, missing string) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state == trafficrules.CanaryRolledBack || c.state == trafficrules.CanaryPromoted:
		return false
	case missing != "":
		changed = c.state != trafficrules.CanaryWaiting
		c.state, c.reason = trafficrules.CanaryWaiting, missing
		return changed
	case c.state == trafficrules.CanaryWaiting:
		c.state, c.reason = trafficrules.CanaryProgressing, ""
		c.begin(c.step, now) // the time without a target does not count
		return true
	}
	return c.progress(now)
}

// progress compares the targets if that is due, and ends the step if it has passed.
func (c *canary) progress(now time.Time) (changed bool) {
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
		c.end(trafficrules.CanaryRolledBack, harm, now)
		return true
	}
	if !passed {
		return false
	}
	if c.step == len(c.steps)-1 {
		c.end(trafficrules.CanaryPromoted, "all steps have passed", now)
		return true
	}
	if !c.alone() {
		c.before = &s
	}
	c.begin(c.step+1, now)
	return true
}

// alone reports whether the canary gets all requests.
func (c *canary) alone() bool { return c.steps[c.step] == 100 }

// lacks returns what the step still lacks; empty: nothing.
func (c *canary) lacks(canary, stable int64, now time.Time) string {
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

func (c *canary) end(s trafficrules.CanaryState, reason string, now time.Time) {
	c.state, c.reason, c.since = s, reason, now
}

// Promote gives the canary the share of its last step.
func (c *canary) Promote(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(trafficrules.CanaryPromoted, "promoted by a command", now)
}

// Rollback takes the canary's share away.
func (c *canary) Rollback(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end(trafficrules.CanaryRolledBack, "rolled back by a command", now)
}

// Status returns the state.
func (c *canary) Status() *trafficrules.CanaryStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.windows.Load()
	return &trafficrules.CanaryStatus{
		State: c.state, Step: c.step + 1, Steps: len(c.steps), Weight: c.weight(), Since: c.since, Reason: c.reason,
		Stable: w.stable.status(), Canary: w.canary.status(),
	}
}

func (w *canaryWindow) status() trafficrules.Window {
	s := w.sample()
	low, high := s.interval(canaryQuantile, 0.025)
	if math.IsInf(high, 1) {
		high = 0
	}
	return trafficrules.Window{
		Requests: s.requests, Failed: s.failed,
		P99: s.quantile(canaryQuantile) / 1e3, P99Low: low / 1e3, P99High: high / 1e3,
	}
}

// Config returns the configuration; read-only.
func (c *canary) Config() *trafficrules.Canary { return c.config }
