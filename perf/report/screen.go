package report

import (
	"errors"
	"io"
	"sync"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// ScreenOptions say where and how a run is shown.
type ScreenOptions struct {
	Out, Notes io.Writer
	Verbose    bool
	Live       bool // Out is a terminal that can be drawn on
	NotesApart bool // Notes goes elsewhere than to that terminal
	Table      bool // a table at the end
}

// Screen shows a run: perf_analyzer's lines, under them a live view on a
// terminal, and a table at the end.
type Screen struct {
	options ScreenOptions
	console *Console
	streams [2]*lines
	mu      sync.Mutex // the writers and the view; Print comes from outside
	live    *ui.Live
	err     error
}

var _ perf.Observer = (*Screen)(nil)

// NewScreen shows a run. Close ends it.
func NewScreen(o ScreenOptions) *Screen {
	s := &Screen{options: o}
	s.streams = [2]*lines{{screen: s, to: o.Out}, {screen: s, to: o.Notes, apart: o.NotesApart}}
	s.console = NewConsole(s.streams[0], s.streams[1], o.Verbose)
	return s
}

// Observe shows an event.
func (s *Screen) Observe(e perf.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := e.(perf.Finished); ok {
		s.stop()
	}
	s.console.Observe(e)
	s.flush()
	switch e := e.(type) {
	case perf.Started:
		if s.options.Live {
			s.live = ui.StartLive(s.options.Out, 250*time.Millisecond, newLiveView(e.Progress).render)
		}
	case perf.Finished:
		if s.options.Table {
			s.err = errors.Join(s.err, WriteTable(s.options.Out, e.Report))
		}
	}
}

// Print writes lines of the program's own.
func (s *Screen) Print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.console.printf("%s\n", text)
	s.flush()
}

// flush hands what was written since to the view, in one piece.
func (s *Screen) flush() {
	for _, l := range s.streams {
		if s.live != nil && len(l.pending) > 0 {
			s.live.Print(string(l.pending))
			l.pending = l.pending[:0]
		}
	}
}

func (s *Screen) stop() {
	if s.live != nil {
		s.err = errors.Join(s.err, s.live.Stop())
		s.live = nil
	}
}

// Close takes the view away and returns the first error of showing.
func (s *Screen) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	return errors.Join(s.err, s.console.Err())
}

// lines is a stream that waits for flush while there is a view. Console writes
// whole lines by the end of each event.
type lines struct {
	screen  *Screen
	to      io.Writer
	apart   bool // and nothing of it belongs above the view
	pending []byte
}

func (l *lines) Write(p []byte) (int, error) {
	if l.screen.live == nil || l.apart {
		return l.to.Write(p)
	}
	l.pending = append(l.pending, p...)
	return len(p), nil
}
