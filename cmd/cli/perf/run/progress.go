package run

import (
	"fmt"
	"math"
	"sync"
	"time"

	"triton/cmd/cli/process"
	"triton/perf/offline"
	"triton/pkg/ui"
)

// progress shows a run: two rows on a terminal, a line now and then elsewhere.
type progress struct {
	live  *ui.Live
	done  chan struct{}
	lines sync.WaitGroup
}

const (
	drawInterval = 250 * time.Millisecond
	lineInterval = 10 * time.Second
)

func startProgress(p process.Process, r *offline.Run) *progress {
	s := &progress{done: make(chan struct{})}
	if p.StderrTerminal && p.Getenv("TERM") != "dumb" {
		s.live = ui.StartLive(p.Stderr, drawInterval, func(int) string { return view(r.Progress()) })
		return s
	}
	s.lines.Go(func() {
		tick := time.NewTicker(lineInterval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintln(p.Stderr, line(r.Progress()))
			case <-s.done:
				return
			}
		}
	})
	return s
}

func (s *progress) stop() error {
	close(s.done)
	s.lines.Wait()
	if s.live == nil {
		return nil
	}
	return s.live.Stop()
}

// view is the progress on a terminal.
func view(p offline.Progress) string {
	bar := ""
	if p.Share >= 0 {
		bar = ui.Bar(min(p.Share, 1), 30) + " "
	}
	return bar + ui.Strong(line(p)) + "\n" +
		ui.Faint(fmt.Sprintf("%d requests at a time, up to %d rows in each, %d retries", p.Concurrency, p.Batch, p.Retries))
}

// line is the progress in one line.
func line(p offline.Progress) string {
	rate := float64(p.Rows-p.Resumed) / max(p.Elapsed.Seconds(), 1e-9)
	s := fmt.Sprintf("%d rows, %.0f rows/s, %d failed", p.Rows, rate, p.Failed)
	if p.Share > 0 {
		s += fmt.Sprintf(", %.0f %%, %s left", math.Floor(100*min(p.Share, 1)), p.Left.Round(time.Second))
	}
	return s
}
