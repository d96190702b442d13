package scheduler

import "time"

// windowSummary describes the requests that arrived under one delay.
type windowSummary struct {
	P99     time.Duration // of their latencies, arrival to answer
	Rate    float64       // requests a second
	Size    float64       // requests in a batch, on average
	NotFull float64       // share of the batches that were not full when they were formed
}

// DelayGoal is what the controller aims for.
type DelayGoal struct {
	Target time.Duration // of the 99th percentile
	Limit  time.Duration // of the delay
}

// delayState is the state of the control loop between windows.
type delayState struct {
	Delay time.Duration
	// After a mistake the delay does not rise for Pause windows, of which PauseLeft remain.
	// Rate is the load at the mistake.
	Pause, PauseLeft int
	Rate             float64
	// Change is the latest change of the delay, if it is still on trial. DelayBefore and
	// WindowBefore are the delay and the window before the change.
	Change       delayChange
	DelayBefore  time.Duration
	WindowBefore windowSummary
	// Shorten makes stepDelay try shorter delays.
	Shorten bool
}

// delayChange is a change of the delay that may be taken back.
type delayChange uint8

// The changes.
const (
	noChange delayChange = iota
	longer
	shorter
)

// lowShare, aimShare and highShare are shares of the target. If the percentile is above highShare the
// delay falls, below lowShare it rises, both towards aimShare. Between lowShare and highShare the delay
// stays, so that noise changes nothing.
const (
	lowShare, aimShare, highShare = 0.75, 0.85, 0.95

	firstPause, lastPause = 4, 64

	loadFactor = 1.25 // two loads that differ by more than this factor are different loads
	minNotFull = 0.05 // smallest share of batches that were not full for which the delay rises
	// A longer delay is helpful if the batches grow by this share of the requests that
	// arrive in the added time, or by this share of their size.
	minShareOfArrivals, minGrowth = 0.25, 0.2

	minSizeKept   = 0.95 // share of their size that batches must keep under a shorter delay
	shortestDelay = 50 * time.Microsecond
)

// stepDelay returns the next state after a window.
//
// Latency grows by about as much as the delay does. So a delay that is too long is
// corrected by the whole gap at once; a delay that is too short rises by half of the gap.
//
// If a longer delay does not make batches larger, it is taken back and shorter ones are
// tried: clients that wait for their answers send nothing during the delay. After a delay
// that was too long or did not help, the delay does not rise for a number of windows,
// which doubles with each such mistake. A change of load ends this pause.
func stepDelay(g DelayGoal, s delayState, w windowSummary) delayState {
	target := float64(g.Target)
	gap := time.Duration(aimShare*target) - w.P99
	trial := s.Change
	s.Change = noChange
	if s.Rate > 0 && trial == noChange && loadChanged(s.Rate, w.Rate) {
		s.Pause, s.PauseLeft, s.Rate = 0, 0, 0
	}
	switch p99 := float64(w.P99); {
	case p99 > highShare*target:
		s.pauseRise(w.Rate)
		s.Delay, s.Shorten = max(s.Delay+gap, 0).Truncate(time.Microsecond), false
	case trial == longer && s.unhelpful(w):
		s.pauseRise(s.WindowBefore.Rate)
		s.Delay, s.Shorten = s.DelayBefore, true
	case trial == shorter && w.Size < minSizeKept*s.WindowBefore.Size:
		s.Delay, s.Shorten = s.DelayBefore, false
	case s.Shorten && s.Delay > shortestDelay:
		s.try(shorter, s.Delay/2, w)
	case s.PauseLeft > 0:
		s.PauseLeft--
	case p99 < lowShare*target && w.NotFull >= minNotFull && s.Delay < g.Limit:
		s.try(longer, min(s.Delay+gap/2, g.Limit), w)
	}
	return s
}

// try changes the delay for the next window.
func (s *delayState) try(t delayChange, delay time.Duration, w windowSummary) {
	s.Change, s.DelayBefore, s.WindowBefore = t, s.Delay, w
	s.Delay = delay.Truncate(time.Microsecond)
}

// loadChanged reports whether two loads differ.
func loadChanged(a, b float64) bool { return b > a*loadFactor || b < a/loadFactor }

// pauseRise starts a pause after a mistake. If no pause was left to run, the new one is
// twice as long as the last.
func (s *delayState) pauseRise(rate float64) {
	if s.PauseLeft == 0 {
		s.Pause = min(max(2*s.Pause, firstPause), lastPause)
	}
	s.PauseLeft, s.Rate = s.Pause, rate
}

// unhelpful reports whether a longer delay made batches hardly larger.
func (s *delayState) unhelpful(w windowSummary) bool {
	if w.Rate > s.WindowBefore.Rate*loadFactor || w.NotFull < minNotFull {
		return false // another load, or batches are already full
	}
	arrived := w.Rate * (s.Delay - s.DelayBefore).Seconds() * w.NotFull
	return w.Size-s.WindowBefore.Size < min(minShareOfArrivals*arrived, minGrowth*s.WindowBefore.Size)
}
