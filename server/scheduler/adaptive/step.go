package adaptive

import "time"

// Window describes the requests that arrived under one delay.
type Window struct {
	P99    time.Duration // of their latencies, arrival to answer
	Rate   float64       // requests a second
	Size   float64       // requests in a batch, on average
	Waited float64       // share of the batches that were not full when they were formed
}

// Goal is what the controller aims for.
type Goal struct {
	Target time.Duration // of the 99th percentile
	Limit  time.Duration // of the delay
}

// State is kept from window to window.
type State struct {
	Delay time.Duration
	// Pause is for how many windows the delay does not rise after a mistake, Left how
	// many of them remain, and Rate the load at the mistake.
	Pause, Left int
	Rate        float64
	// Change says that the delay has just changed from Before, under which Seen was
	// observed.
	Change Change
	Before time.Duration
	Seen   Window
	// Shorten says that shorter delays may do as well.
	Shorten bool
}

// Change is a change of the delay that may be taken back.
type Change uint8

// The changes.
const (
	None Change = iota
	Longer
	Shorter
)

// Shares of the target: above high the delay falls, below low it rises, both
// towards aim. Between them it stays, so that the noise of a percentile changes nothing.
const (
	low, aim, high = 0.75, 0.85, 0.95

	firstPause, lastPause = 4, 64

	loadFactor = 1.25 // two loads that differ by more than this factor are different loads
	minWaited  = 0.05 // share of batches that a delay must affect to rise
	// A longer delay must add this share of the requests that arrive during it to the
	// batches, or make them larger by this share.
	minShareOfArrivals, minGrowth = 0.25, 0.2

	minSize  = 0.95 // the share of their size that batches may lose to a shorter delay
	shortest = 50 * time.Microsecond
)

// Step returns the next state after a window. Latency grows by about as much as the delay
// does, so a delay that is too long is corrected at once; upwards only half of the gap is
// used. A rise that does not make batches larger is taken back, and shorter delays are
// tried: callers that wait for their answers send nothing meanwhile. After a mistake in
// either direction the delay does not rise for a while, longer each time, so that the
// mistake is not repeated. A change of load ends the pause.
func Step(g Goal, s State, w Window) State {
	target := float64(g.Target)
	gap := time.Duration(aim*target) - w.P99
	trial := s.Change
	s.Change = None
	if s.Rate > 0 && trial == None && changed(s.Rate, w.Rate) {
		s.Pause, s.Left, s.Rate = 0, 0, 0
	}
	switch p99 := float64(w.P99); {
	case p99 > high*target:
		s.pauseRise(w.Rate)
		s.Delay, s.Shorten = max(s.Delay+gap, 0).Truncate(time.Microsecond), false
	case trial == Longer && s.unhelpful(w):
		s.pauseRise(s.Seen.Rate)
		s.Delay, s.Shorten = s.Before, true
	case trial == Shorter && w.Size < minSize*s.Seen.Size:
		s.Delay, s.Shorten = s.Before, false
	case s.Shorten && s.Delay > shortest:
		s.try(Shorter, s.Delay/2, w)
	case s.Left > 0:
		s.Left--
	case p99 < low*target && w.Waited >= minWaited && s.Delay < g.Limit:
		s.try(Longer, min(s.Delay+gap/2, g.Limit), w)
	}
	return s
}

// try changes the delay for the next window.
func (s *State) try(t Change, delay time.Duration, w Window) {
	s.Change, s.Before, s.Seen = t, s.Delay, w
	s.Delay = delay.Truncate(time.Microsecond)
}

// changed reports whether two loads differ.
func changed(a, b float64) bool { return b > a*loadFactor || b < a/loadFactor }

// pauseRise starts a pause after a mistake, a longer one if the delay had risen since the
// last or the load is the same.
func (s *State) pauseRise(rate float64) {
	if s.Left == 0 {
		s.Pause = min(max(2*s.Pause, firstPause), lastPause)
	}
	s.Left, s.Rate = s.Pause, rate
}

// unhelpful reports whether a longer delay made batches hardly larger.
func (s *State) unhelpful(w Window) bool {
	if w.Rate > s.Seen.Rate*loadFactor || w.Waited < minWaited {
		return false // another load, or batches are already full
	}
	came := w.Rate * (s.Delay - s.Before).Seconds() * w.Waited
	return w.Size-s.Seen.Size < min(minShareOfArrivals*came, minGrowth*s.Seen.Size)
}
