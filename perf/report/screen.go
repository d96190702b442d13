package report

import (
	"errors"
	"io"
	"sync"
	"time"

	"triton/perf"
	"triton/pkg/ui"
)

// ScreenOptions configure a Screen.
type ScreenOptions struct {
	Out, Notes io.Writer
	Verbose    bool
	// Live is where the live view is drawn; nil: there is none. OutShared and NotesShared report
	// whether Out and Notes are shown on that terminal.
	Live                   io.Writer
	OutShared, NotesShared bool
	Color                  bool // the terminal shows colors
	Table                  bool // print a table at the end
}

// Screen shows a run: perf_analyzer's lines, under them a live view on a
// terminal, and a table at the end.
type Screen struct {
	options ScreenOptions
	console *Console
	streams [2]*lines
	mu      sync.Mutex // guards the writers and the view: any goroutine may Print
	live    *ui.Live
	view    *liveView
	quiet   bool // set by Quit: later events and lines are dropped
	err     error
}

var _ perf.Observer = (*Screen)(nil)

// NewScreen returns a screen for one run. Close ends it.
func NewScreen(o ScreenOptions) *Screen {
	s := &Screen{options: o}
	s.streams = [2]*lines{{screen: s, to: o.Out, shared: o.OutShared}, {screen: s, to: o.Notes, shared: o.NotesShared}}
	s.console = NewConsole(s.streams[0], s.streams[1], o.Verbose)
	return s
}

// Observe shows an event.
func (s *Screen) Observe(e perf.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	if _, ok := e.(perf.Finished); ok {
		s.stop()
	}
	s.console.Observe(e)
	s.flush()
	if s.view != nil {
		s.view.observe(e)
	}
	switch e := e.(type) {
	case perf.Started:
		if s.options.Live != nil {
			s.view = newLiveView(e, ui.Palette{Color: s.options.Color})
			s.live = ui.StartLive(s.options.Live, 250*time.Millisecond, s.view.render)
		}
	case perf.Finished:
		if s.options.Table {
			s.err = errors.Join(s.err, WriteTable(s.options.Out, e.Report, s.options.Color && s.options.OutShared))
		}
	}
}

// Print writes a line that does not come from an event.
func (s *Screen) Print(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(text)
}

// Quit prints a line and drops all later events and lines.
func (s *Screen) Quit(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.print(text)
	s.quiet = true
}

func (s *Screen) print(text string) {
	if s.quiet {
		return
	}
	s.console.printf("%s\n", text)
	s.flush()
}

// flush prints the pending lines above the view.
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

// Close removes the view and returns the first error.
func (s *Screen) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stop()
	return errors.Join(s.err, s.console.Err())
}

// lines buffers a stream until flush while there is a view. Console has written
// whole lines by the end of each event.
type lines struct {
	screen  *Screen
	to      io.Writer
	shared  bool // with the terminal of the view; else written at once
	pending []byte
}

// Size returns the size of the terminal that the stream is shown on, zeros if there is none.
func (l *lines) Size() (width, height int) { return ui.TerminalSize(l.to) }

func (l *lines) Write(p []byte) (int, error) {
	if l.screen.live == nil || !l.shared {
		return l.to.Write(p)
	}
	l.pending = append(l.pending, p...)
	return len(p), nil
}
