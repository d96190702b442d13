package capacity

import (
	"cmp"
	"fmt"
	"math"
	"time"
)

// Target is what a load must be served with.
type Target struct {
	P99 time.Duration
	// Refused is the share of requests that may be rejected or expire.
	Refused float64
	// PerDevice is how many instances fit a device; 0: all on one. Most is how many there may
	// be in all; 0 is 1024.
	PerDevice, Most int
}

// Answer is how many instances hold a target.
type Answer struct {
	Setting Setting
	// Holds is the outcome with the fewest instances that hold the target; nil: none do. Fails
	// is the outcome with one instance less; nil if Holds has one instance.
	Holds, Fails *Outcome
	Tried        []Outcome // in the order of the runs
	// Reason is why no number of instances holds the target.
	Reason string
}

// Holds reports whether an outcome meets the target.
func (t Target) Holds(o Outcome) bool {
	lost := float64(o.Rejected + o.Expired)
	return !o.Overloaded && o.Waiting == 0 && o.Answered > 0 && o.P99 <= t.P99 && lost <= t.Refused*float64(o.Requests)
}

const defaultMost = 1024

// Fewest returns the fewest instances of a setting that hold a target. It doubles their number
// until the target holds, and halves the gap to the last number that failed. The outcome of
// one instance less is always run, so that the answer shows both sides of the limit.
func (p Planner) Fewest(s Setting, arrivals []Arrival, t Target) Answer {
	a := Answer{Setting: s}
	most := cmp.Or(t.Most, defaultMost)
	known := map[int]*Outcome{}
	run := func(k int) *Outcome {
		if known[k] == nil {
			o := p.Run(t.spread(s, k), arrivals)
			known[k] = &o
			a.Tried = append(a.Tried, o)
		}
		return known[k]
	}
	low := min(p.atLeast(s, arrivals), most) - 1 // fails, or is 0
	high := low + 1
	for !t.Holds(*run(high)) {
		if high == most {
			a.Reason = t.reason(*run(high))
			return a
		}
		low, high = high, min(2*high, most)
	}
	for high-low > 1 {
		if middle := low + (high-low)/2; t.Holds(*run(middle)) {
			high = middle
		} else {
			low = middle
		}
	}
	// The load may leave less than the bound on average, so it is checked from below.
	for high > 1 && t.Holds(*run(high - 1)) {
		high--
	}
	a.Holds = run(high)
	if high > 1 {
		a.Fails = run(high - 1)
	}
	a.Setting = a.Holds.Setting
	return a
}

// spread puts k instances on as few devices as they fit.
func (t Target) spread(s Setting, k int) Setting {
	s.Instances, s.Devices = k, 1
	if t.PerDevice > 0 {
		s.Devices = (k + t.PerDevice - 1) / t.PerDevice
	}
	return s
}

// atLeast returns the instances without which the rows come faster than instances that do not
// slow each other down could run them.
func (p Planner) atLeast(s Setting, arrivals []Arrival) int {
	n := len(arrivals)
	span := arrivals[n-1].At - arrivals[0].At
	if span <= 0 {
		return 1
	}
	rows, largest := rowsOf(s, arrivals)
	best := p.Curve.Best(largest, 1)
	return max(1, int(math.Floor(float64(rows)/span.Seconds()/best)))
}

// reason says why the most instances do not hold a target.
func (t Target) reason(o Outcome) string {
	switch {
	case o.Waiting > 0:
		return fmt.Sprintf("%d requests are never answered: no batch of the preferred sizes becomes due", o.Waiting)
	case o.Overloaded:
		return fmt.Sprintf("%d instances are overloaded", o.Setting.Instances)
	case float64(o.Rejected+o.Expired) > t.Refused*float64(o.Requests):
		return fmt.Sprintf("%d of %d requests are refused by the queue policy even with %d instances", o.Rejected+o.Expired, o.Requests, o.Setting.Instances)
	}
	return fmt.Sprintf("p99 is %v even with %d instances, which leave at most %v of it to the queue", o.P99, o.Setting.Instances, o.P99Queue)
}

// Better reports whether an answer is better than another: fewer devices, fewer instances, lower
// latency. An answer without instances is the worst.
func (a Answer) Better(than Answer) bool {
	switch {
	case a.Holds == nil || than.Holds == nil:
		return a.Holds != nil
	case a.Holds.Setting.Devices != than.Holds.Setting.Devices:
		return a.Holds.Setting.Devices < than.Holds.Setting.Devices
	case a.Holds.Setting.Instances != than.Holds.Setting.Instances:
		return a.Holds.Setting.Instances < than.Holds.Setting.Instances
	}
	return a.Holds.P99 < than.Holds.P99
}
