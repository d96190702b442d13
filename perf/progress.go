package perf

import (
	"sync"
	"time"

	"triton/perf/load"
	"triton/pkg/measure"
)

// Progress is the state of the current level. Requests and latencies are counted
// only if Config.Live is set.
type Progress struct {
	Batch              int
	Load               Load
	Trial              int           // the window, from 1; 0 before the first level
	InWindow           time.Duration // since it began
	Window             time.Duration // its planned length; 0 when by count
	Requests           uint64        // completed since the level began
	Elapsed            time.Duration // since the level began
	P50, P90, P95, P99 time.Duration // since the level began, accurate to about 6 %

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

// progress tracks the current level for Progress.
type progress struct {
	mu struct {
		sync.Mutex
		generator   load.Generator
		base        measure.Counts // before the level
		levelStart  time.Time
		p           Progress
		windowStart time.Time // start of the window
	}
}

func (s *progress) start(gen load.Generator, l *Level, c Settings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.generator = gen
	s.mu.base = measure.Counts{}
	if c.Live {
		gen.Snapshot(&s.mu.base)
	}
	s.mu.p = Progress{
		Batch: l.Batch, Load: l.Load, Level: l.Number, Levels: c.Levels(),
		WarmingUp: true, MaxTrials: c.MaxTrials,
	}
	if len(c.StopWhen) > 0 || c.RequestCount > 0 {
		s.mu.p.MaxTrials = 0
	} else {
		s.mu.p.SpreadLimit = c.Stability
	}
	if c.Windows == TimeWindows && c.RequestCount == 0 {
		s.mu.p.Window = windowLength(c.Interval)
	}
	s.mu.levelStart = time.Now()
	s.mu.windowStart = s.mu.levelStart
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
	p := s.mu.p
	if s.mu.generator == nil {
		return p
	}
	p.InWindow, p.Elapsed = time.Since(s.mu.windowStart), time.Since(s.mu.levelStart)
	var c measure.Counts
	s.mu.generator.Snapshot(&c)
	c.Sub(&s.mu.base)
	p.Requests = c.N()
	for _, q := range []struct {
		p    float64
		into *time.Duration
	}{{50, &p.P50}, {90, &p.P90}, {95, &p.P95}, {99, &p.P99}} {
		*q.into = time.Duration(c.Percentile(q.p))
	}
	return p
}

// widths records the intervals of a level.
func (s *progress) widths(l *Level) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.p.Widths = l.Widths
}
