package adaptive

import "time"

// Window is what was seen of requests that arrived under one delay.
type Window struct {
	P99    time.Duration // of their latencies, arrival to answer
	Rate   float64       // requests a second
	Size   float64       // requests in a batch, on average
	Waited float64       // share of the batches that were not full when they were cut
}

// Goal is what the delay is to reach.
type Goal struct {
	Target time.Duration // of the 99th percentile
	Limit  time.Duration // of the delay
}

// State is what is remembered from window to window.
type State struct {
	Delay time.Duration
	// Pause is for how many windows the delay stays after it was wrong, Left how
	// many of them are to come, and Rate the load without that mistake.
	Pause, Left int
	Rate        float64
	// Trial says that the delay has just changed from Before, under which Seen was
	// seen.
	Trial  Trial
	Before time.Duration
	Seen   Window
	// Shorten says that shorter delays may do as well.
	Shorten bool
}

// Trial is a change that may be taken back.
type Trial uint8

// The trials.
const (
	None Trial = iota
	Longer
	Shorter
)

// Shares of the target: above high the delay falls, below low it rises, both
// towards aim. What lies between is left alone, so that the noise of a percentile
// changes nothing.
const (
	low, aim, high = 0.75, 0.85, 0.95

	firstPause, lastPause = 4, 64

	otherLoad  = 1.25 // a load that many times another is a new one
	fewBatches = 0.05 // share of batches that a delay must concern to rise
	// A longer delay is to bring batches a share of the requests that come in it,
	// or to make them so much larger.
	someOfThose, soMuch = 0.25, 0.2

	asLarge  = 0.95 // the share of their size that batches may lose to a shorter delay
	shortest = 50 * time.Microsecond
)

// Step is the next state after a window. Latency grows by about as much as the
// delay does, so an error is corrected at once when it is too long; upwards only
// half of it. A rise that does not make batches larger is taken back, and shorter
// delays are tried then: callers who wait for their answers send nothing
// meanwhile. After a mistake, either way, the delay does not rise for a while,
// longer each time, so that it is not repeated again and again. A change of load
// ends that.
func Step(g Goal, s State, w Window) State {
	target := float64(g.Target)
	gap := time.Duration(aim*target) - w.P99
	trial := s.Trial
	s.Trial = None
	if s.Rate > 0 && trial == None && changed(s.Rate, w.Rate) {
		s.Pause, s.Left, s.Rate = 0, 0, 0
	}
	switch p99 := float64(w.P99); {
	case p99 > high*target:
		s.mistake(w.Rate)
		s.Delay, s.Shorten = max(s.Delay+gap, 0).Truncate(time.Microsecond), false
	case trial == Longer && s.inVain(w):
		s.mistake(s.Seen.Rate)
		s.Delay, s.Shorten = s.Before, true
	case trial == Shorter && w.Size < asLarge*s.Seen.Size:
		s.Delay, s.Shorten = s.Before, false
	case s.Shorten && s.Delay > shortest:
		s.try(Shorter, s.Delay/2, w)
	case s.Left > 0:
		s.Left--
	case p99 < low*target && w.Waited >= fewBatches && s.Delay < g.Limit:
		s.try(Longer, min(s.Delay+gap/2, g.Limit), w)
	}
	return s
}

// try changes the delay for the next window.
func (s *State) try(t Trial, delay time.Duration, w Window) {
	s.Trial, s.Before, s.Seen = t, s.Delay, w
	s.Delay = delay.Truncate(time.Microsecond)
}

func changed(a, b float64) bool { return b > a*otherLoad || b < a/otherLoad }

// mistake begins a pause, a longer one if the delay had risen since the last or
// the load is the same.
func (s *State) mistake(rate float64) {
	if s.Left == 0 {
		s.Pause = min(max(2*s.Pause, firstPause), lastPause)
	}
	s.Left, s.Rate = s.Pause, rate
}

// inVain says whether batches are hardly larger for a longer delay.
func (s *State) inVain(w Window) bool {
	if w.Rate > s.Seen.Rate*otherLoad || w.Waited < fewBatches {
		return false // another load, or batches that are as full as can be
	}
	came := w.Rate * (s.Delay - s.Before).Seconds() * w.Waited
	return w.Size-s.Seen.Size < min(someOfThose*came, soMuch*s.Seen.Size)
}
