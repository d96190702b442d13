package adaptive

import "time"

// Window is what was seen of requests that arrived under one delay.
type Window struct {
	P99     time.Duration // of their latencies, arrival to answer
	Rate    float64       // requests a second
	Batches int
	Waited  int // batches that were not full when they were cut
}

// Goal is what the delay is to reach.
type Goal struct {
	Target time.Duration // of the 99th percentile
	Limit  time.Duration // of the delay
}

// State is what is remembered from window to window.
type State struct {
	Delay time.Duration
	// Pause is for how many windows the delay stays after it was too long, Left how
	// many of them are to come, and Rate the load then.
	Pause, Left int
	Rate        float64
}

// Shares of the target: above high the delay falls, below low it rises, both
// towards aim. What lies between is left alone, so that the noise of a percentile
// changes nothing.
const (
	low, aim, high = 0.75, 0.85, 0.95

	firstPause, lastPause = 4, 64

	otherLoad  = 1.25 // a load that many times another is a new one
	fewBatches = 0.05 // share of batches that a delay must concern to rise
)

// Step is the next state after a window. Latency grows by about as much as the
// delay does, so an error is corrected at once when it is too long; upwards only
// half of it, and not at all for a while after a delay was too long, for longer
// each time, so that a target which is met at one delay and missed by far at the
// next is not tried again and again. A change of load ends that.
func Step(g Goal, s State, w Window) State {
	target := float64(g.Target)
	gap := time.Duration(aim*target) - w.P99
	if s.Rate > 0 && (w.Rate > s.Rate*otherLoad || w.Rate < s.Rate/otherLoad) {
		s.Pause, s.Left, s.Rate = 0, 0, 0
	}
	switch p99 := float64(w.P99); {
	case p99 > high*target:
		if s.Left == 0 { // it had risen, or something has changed
			s.Pause = min(max(2*s.Pause, firstPause), lastPause)
		}
		s.Left, s.Rate = s.Pause, w.Rate
		s.Delay = max(s.Delay+gap, 0)
	case s.Left > 0:
		s.Left--
	case p99 < low*target && float64(w.Waited) >= fewBatches*float64(w.Batches):
		s.Delay = min(s.Delay+gap/2, g.Limit)
	}
	s.Delay = s.Delay.Truncate(time.Microsecond)
	return s
}
