package perf

import (
	"sync"
	"time"

	"triton/perf/load"
	"triton/pkg/measure"
)

// Progress is the state of the current level. Requests, latencies and the timeline are
// counted only if Config.Live is set.
type Progress struct {
	Batch              int
	Load               Load
	Repeat             int           // as in Level
	Trial              int           // the window, from 1; 0 before the first level
	InWindow           time.Duration // since it began
	Window             time.Duration // its planned length; 0 when by count
	Requests           uint64        // completed since the level began
	Total              uint64        // requests that end the level; 0: its windows do
	Elapsed            time.Duration // since the level began
	P50, P90, P95, P99 time.Duration // since the level began, accurate to about 6 %
	Timeline           []Tick        // the last ones, also of the levels before
	// LevelLeft and Left estimate the time to the end of the level and of the run; 0 is unknown.
	LevelLeft, Left time.Duration

	Level, Levels int  // the level, from 1, and their number; 0: not known
	WarmingUp     bool // the level has not begun to measure
	MaxTrials     int  // the last window; 0: not known
	// Spread is that of the last windows, and SpreadLimit the one that ends the level. Both are 0
	// before the third window and with Config.StopWhen.
	Spread      Spread
	SpreadLimit float64
	// Widths are the widths of the intervals that Config.StopWhen names, after each window.
	Widths []Width
	Errors uint64
	// Process is how busy the client was in the window before; nil if it is not known.
	Process *Process
}

// Tick is a short time of a run.
type Tick struct {
	Throughput float64 // inferences per second
	P99        time.Duration
	Requests   uint64
}

const (
	tickLength   = 500 * time.Millisecond
	timelineSize = 240
)

// progress tracks the current level for Progress.
type progress struct {
	mu struct {
		sync.Mutex
		generator   load.Generator
		base        measure.Counts // before the level
		levelStart  time.Time
		p           Progress
		windowStart time.Time     // start of the window
		limit       time.Duration // of the level, with Config.StopWhen
		finished    pace
		ticked      time.Time      // end of the last tick
		atTick      measure.Counts // at that time
		timeline    []Tick
	}
}

func (s *progress) start(gen load.Generator, l *Level, c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.mu.p.Level > 0 {
		s.mu.finished.add(now.Sub(s.mu.levelStart), s.mu.p.Trial)
	}
	s.mu.base = measure.Counts{}
	if c.Live {
		gen.Snapshot(&s.mu.base)
	}
	if gen != s.mu.generator {
		s.mu.atTick, s.mu.ticked = s.mu.base, now
	}
	s.mu.generator = gen
	s.mu.p = Progress{
		Batch: l.Batch, Load: l.Load, Repeat: l.Repeat, Level: l.Number, Levels: c.Levels(),
		WarmingUp: true, Total: uint64(c.RequestCount),
	}
	s.mu.limit = 0
	switch {
	case c.RequestCount > 0:
	case len(c.StopWhen) > 0:
		s.mu.limit = c.LevelLimit()
	default:
		s.mu.p.MaxTrials, s.mu.p.SpreadLimit = c.MaxTrials, c.Stability
		if c.Windows == TimeWindows {
			s.mu.p.Window = windowLength(c.Interval)
		}
	}
	s.mu.levelStart, s.mu.windowStart = now, now
}

func (s *progress) window() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.p.Trial++
	s.mu.p.WarmingUp = false
	s.mu.windowStart = time.Now()
}

// done records the figures of a window.
func (s *progress) done(w *Summary, l *Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.p.Spread, s.mu.p.Widths = l.Spread, l.Widths
	s.mu.p.Errors += w.Errors
	s.mu.p.Process = w.Process
}

func (s *progress) snapshot() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mu.generator == nil {
		return s.mu.p
	}
	now := time.Now()
	p := s.mu.p
	p.InWindow, p.Elapsed = now.Sub(s.mu.windowStart), now.Sub(s.mu.levelStart)
	var c measure.Counts
	s.mu.generator.Snapshot(&c)
	s.tick(now, c, p.Batch)
	p.Timeline = append([]Tick(nil), s.mu.timeline...)
	c.Sub(&s.mu.base)
	p.Requests = c.N()
	for _, q := range []struct {
		p    float64
		into *time.Duration
	}{{50, &p.P50}, {90, &p.P90}, {95, &p.P95}, {99, &p.P99}} {
		*q.into = time.Duration(c.Percentile(q.p))
	}
	p.estimate(s.mu.finished, s.mu.limit)
	return p
}

// widths records the intervals of a level.
func (s *progress) widths(l *Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.p.Widths = l.Widths
}

// tick adds the time since the last tick to the timeline if it was long enough. The caller
// holds s.mu.
func (s *progress) tick(now time.Time, c measure.Counts, batch int) {
	length := now.Sub(s.mu.ticked)
	if length < tickLength {
		return
	}
	since := c
	since.Sub(&s.mu.atTick)
	s.mu.timeline = append(s.mu.timeline, Tick{
		Throughput: float64(since.N()) * float64(max(batch, 1)) / length.Seconds(),
		P99:        time.Duration(since.Percentile(99)),
		Requests:   since.N(),
	})
	s.mu.timeline = s.mu.timeline[max(0, len(s.mu.timeline)-timelineSize):]
	s.mu.ticked, s.mu.atTick = now, c
}
