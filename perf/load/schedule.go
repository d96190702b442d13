package load

import (
	"math/rand/v2"
	"time"
)

// Schedule yields the times at which requests start, since the start of the level and in
// ascending order. ok is false after the last one.
type Schedule interface {
	Next() (at time.Duration, ok bool)
}

// Constant returns a schedule of equal intervals at a rate of requests per second. The
// first request starts one interval after the level.
func Constant(rate float64) Schedule {
	return Intervals([]time.Duration{time.Duration(float64(time.Second) / rate)})
}

// Intervals returns a schedule with these intervals between requests; after the last one it
// begins with the first one again. The first request starts one interval after the level.
func Intervals(list []time.Duration) Schedule { return &intervals{list: list} }

type intervals struct {
	list []time.Duration
	next int
	at   time.Duration
}

func (s *intervals) Next() (time.Duration, bool) {
	s.at += s.list[s.next]
	s.next = (s.next + 1) % len(s.list)
	return s.at, true
}

// Poisson returns a schedule of a Poisson process: intervals are exponentially distributed
// with a mean of 1/rate seconds. Equal seeds give equal schedules.
func Poisson(rate float64, seed uint64) Schedule {
	return &poisson{mean: float64(time.Second) / rate, rng: rand.New(rand.NewPCG(seed, 0))}
}

type poisson struct {
	mean float64
	rng  *rand.Rand
	at   float64
}

func (s *poisson) Next() (time.Duration, bool) {
	s.at += s.mean * s.rng.ExpFloat64()
	return time.Duration(s.at), true
}

// At returns a schedule of given times, which ends with the last one.
func At(times []time.Duration) Schedule { return &fixed{times} }

type fixed struct{ left []time.Duration }

func (s *fixed) Next() (time.Duration, bool) {
	if len(s.left) == 0 {
		return 0, false
	}
	at := s.left[0]
	s.left = s.left[1:]
	return at, true
}
