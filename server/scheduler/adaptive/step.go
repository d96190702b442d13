package adaptive

import "time"

// Window describes the requests that arrived under one delay.
type Window struct {
	P99     time.Duration // of their latencies, arrival to answer
	Rate    float64       // requests a second
	Size    float64       // requests in a batch, on average
	NotFull float64       // share of the batches that were not full when they were formed
}

// Goal is what the controller aims for.
type Goal struct {
	Target time.Duration // of the 99th percentile
	Limit  time.Duration // of the delay
}

// State is the state of the control loop between windows.
type State struct {
	Delay time.Duration
	// After a mistake the delay does not rise for Pause windows, of which PauseLeft remain.
	// Rate is the load at the mistake.
	Pause, PauseLeft int
	Rate             float64
	// Change is the latest change of the delay, if it is still on trial. DelayBefore and
	// WindowBefore are the delay and the window before the change.
	Change       Change
	DelayBefore  time.Duration
	WindowBefore Window
	// Shorten makes Step try shorter delays.
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

// low, aim and high are shares of the target. If the percentile is above high the delay
// falls, below low it rises, both towards aim. Between low and high the delay stays, so
// that noise changes nothing.
const (
	low, aim, high = 0.75, 0.85, 0.95

	firstPause, lastPause = 4, 64

	loadFactor = 1.25 // two loads that differ by more than this factor are different loads
	minNotFull = 0.05 // smallest share of batches that were not full for which the delay rises
	// A longer delay is helpful if the batches grow by this share of the requests that
	// arrive in the added time, or by this share of their size.
	minShareOfArrivals, minGrowth = 0.25, 0.2

	minSize  = 0.95 // share of their size that batches must keep under a shorter delay
	shortest = 50 * time.Microsecond
)

// Step returns the next state after a window.
//
// Latency grows by about as much as the delay does. So a delay that is too long is
// corrected by the whole gap at once; a delay that is too short rises by half of the gap.
//
// If a longer delay does not make batches larger, it is taken back and shorter ones are
// tried: clients that wait for their answers send nothing during the delay. After a delay
// that was too long or did not help, the delay does not rise for a number of windows,
// which doubles with each such mistake. A change of load ends this pause.
func Step(g Goal, s State, w Window) State {
	target := float64(g.Target)
	gap := time.Duration(aim*target) - w.P99
	trial := s.Change
	s.Change = None
	if s.Rate > 0 && trial == None && changed(s.Rate, w.Rate) {
		s.Pause, s.PauseLeft, s.Rate = 0, 0, 0
	}
	switch p99 := float64(w.P99); {
	case p99 > high*target:
		s.pauseRise(w.Rate)
		s.Delay, s.Shorten = max(s.Delay+gap, 0).Truncate(time.Microsecond), false
	case trial == Longer && s.unhelpful(w):
		s.pauseRise(s.WindowBefore.Rate)
		s.Delay, s.Shorten = s.DelayBefore, true
	case trial == Shorter && w.Size < minSize*s.WindowBefore.Size:
		s.Delay, s.Shorten = s.DelayBefore, false
	case s.Shorten && s.Delay > shortest:
		s.try(Shorter, s.Delay/2, w)
	case s.PauseLeft > 0:
		s.PauseLeft--
	case p99 < low*target && w.NotFull >= minNotFull && s.Delay < g.Limit:
		s.try(Longer, min(s.Delay+gap/2, g.Limit), w)
	}
	return s
}

// try changes the delay for the next window.
func (s *State) try(t Change, delay time.Duration, w Window) {
	s.Change, s.DelayBefore, s.WindowBefore = t, s.Delay, w
	s.Delay = delay.Truncate(time.Microsecond)
}

// changed reports whether two loads differ.
func changed(a, b float64) bool { return b > a*loadFactor || b < a/loadFactor }

// pauseRise starts a pause after a mistake. If no pause was left to run, the new one is
// twice as long as the last.
func (s *State) pauseRise(rate float64) {
	if s.PauseLeft == 0 {
		s.Pause = min(max(2*s.Pause, firstPause), lastPause)
	}
	s.PauseLeft, s.Rate = s.Pause, rate
}

// unhelpful reports whether a longer delay made batches hardly larger.
func (s *State) unhelpful(w Window) bool {
	if w.Rate > s.WindowBefore.Rate*loadFactor || w.NotFull < minNotFull {
		return false // another load, or batches are already full
	}
	arrived := w.Rate * (s.Delay - s.DelayBefore).Seconds() * w.NotFull
	return w.Size-s.WindowBefore.Size < min(minShareOfArrivals*arrived, minGrowth*s.WindowBefore.Size)
}
