package perf

import (
	"fmt"
	"math"
	"sync"
	"time"

	"triton/cmd/cli/process"
	"triton/perf/offline"
	"triton/pkg/ui"
)

// offlineProgress shows a run on standard error: two rows on a terminal, a line now and then elsewhere.
// Any goroutine may print.
type offlineProgress struct {
	process process.Process
	done    chan struct{}
	lines   sync.WaitGroup

	mu   sync.Mutex
	live *ui.Live
}

const (
	drawInterval = 250 * time.Millisecond
	lineInterval = 10 * time.Second
)

func (s *offlineProgress) start(r *offline.Run) {
	s.done = make(chan struct{})
	if s.process.StderrTerminal && s.process.Getenv("TERM") != "dumb" {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.live = ui.StartLive(s.process.Stderr, drawInterval, func(_, _ int) string { return offlineView(r.Progress()) })
		return
	}
	s.lines.Go(func() {
		tick := time.NewTicker(lineInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				s.print(offlineLine(r.Progress()))
			case <-s.done:
				return
			}
		}
	})
}

// print prints a line, above the rows if there are any.
func (s *offlineProgress) print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live != nil {
		_ = ui.WriteLine(s.live, text) // Stop returns the error
		return
	}
	fmt.Fprintln(s.process.Stderr, text) // a log has one line for each event
}

func (s *offlineProgress) stop() error {
	close(s.done)
	s.lines.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		return nil
	}
	live := s.live
	s.live = nil
	return live.Stop()
}

// offlineView is the progress on a terminal.
func offlineView(p offline.Progress) string {
	bar := ""
	if p.Share >= 0 {
		bar = ui.Bar(min(p.Share, 1), 30) + " "
	}
	return bar + ui.Strong(offlineLine(p)) + "\n" +
		ui.Faint(fmt.Sprintf("%d requests at a time, up to %d rows in each, %d retries", p.Concurrency, p.Batch, p.Retries))
}

// offlineLine is the progress in one line.
func offlineLine(p offline.Progress) string {
	rate := float64(p.Rows-p.Resumed) / max(p.Elapsed.Seconds(), 1e-9)
	s := fmt.Sprintf("%d rows, %.0f rows/s, %d failed", p.Rows, rate, p.Failed)
	if p.Share > 0 {
		s += fmt.Sprintf(", %.0f %%, %s left", math.Floor(100*min(p.Share, 1)), p.Left.Round(time.Second))
	}
	return s
}
