package offline

import "time"

// tuner finds the number of requests in flight from which on more of them do not raise the
// throughput: it doubles the number until a step gains less than minGain, and goes back to the
// best one. It has no clock of its own.
type tuner struct {
	now     int // requests in flight
	best    int
	rate    float64 // rows per second at best
	settled bool

	since    time.Duration // when counting began
	skip     int           // answers that belong to the number before
	rows     int
	requests int
}

const (
	firstConcurrency = 2
	maxConcurrency   = 256
	minGain          = 1.05
	// A rate counts from so many requests for each one in flight and from that time on.
	minRounds = 6
	minTime   = 250 * time.Millisecond
)

// newTuner returns a tuner that keeps a fixed number, or searches one if it is 0.
func newTuner(fixed int) *tuner {
	if fixed > 0 {
		return &tuner{now: fixed, best: fixed, settled: true}
	}
	return &tuner{now: firstConcurrency, best: firstConcurrency}
}

// answered counts a request with its rows at a time since the start, and returns the number of
// requests to keep in flight.
func (t *tuner) answered(rows int, at time.Duration) int {
	if t.settled {
		return t.now
	}
	if t.skip > 0 {
		t.skip--
		t.since = at
		return t.now
	}
	t.rows += rows
	t.requests++
	took := at - t.since
	if t.requests < minRounds*t.now || took < minTime {
		return t.now
	}
	rate := float64(t.rows) / took.Seconds()
	switch {
	case rate < t.rate*minGain:
		t.now, t.settled = t.best, true
	case t.now == maxConcurrency:
		t.settled = true
	default:
		t.best, t.rate = t.now, rate
		t.skip, t.rows, t.requests = t.now, 0, 0
		t.now *= 2
	}
	return t.now
}

// refused halves the number because the server's queue is full.
func (t *tuner) refused() int {
	t.now = max(1, t.now/2)
	t.best, t.settled = t.now, true
	return t.now
}
