package ui

import (
	"errors"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	// maxRows bounds the height of a view, so that printed lines have room
	// above it.
	maxRows = 10
	// framesPerSecond is how often bubbletea compares the view with the screen.
	framesPerSecond = 20
)

// Live is a view of a few rows below the printed lines. It is redrawn until
// Stop. Keys and signals stay with the program.
type Live struct {
	program *tea.Program
	out     *output
	ended   chan struct{} // closed when the program has ended
	err     error         // of the program; read after ended
}

// StartLive draws what render returns, again after each interval. The arguments of render are
// the columns and the rows that the view may have on the terminal at that time.
func StartLive(to io.Writer, interval time.Duration, render func(width, rows int) string) *Live {
	out := newOutput(to)
	l := &Live{out: out, ended: make(chan struct{})}
	width, height := out.size()
	l.program = tea.NewProgram(&liveModel{interval: interval, render: render, width: width, height: height},
		tea.WithOutput(out.terminal()), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithoutCatchPanics(),
		tea.WithWindowSize(width, height), tea.WithFPS(framesPerSecond))
	go func() {
		defer close(l.ended)
		_, l.err = l.program.Run()
	}()
	// bubbletea takes the whole screen for the view until it has drawn the
	// first frame: lines printed before would overwrite others.
	select {
	case <-out.drawn:
	case <-l.ended:
	}
	return l
}

// Write writes whole lines above the view, as Print does. With Size it makes a view a writer for WriteLine, which wraps
// lines between words. An error is returned by Stop.
func (l *Live) Write(p []byte) (int, error) {
	l.Print(string(p))
	return len(p), nil
}

// Size returns the size of the terminal.
func (l *Live) Size() (width, height int) { return l.out.size() }

// Print writes whole lines above the view; the terminal breaks those that it has no room for.
func (l *Live) Print(text string) {
	text = strings.TrimSuffix(text, "\n")
	width, height := l.out.size()
	for line := range strings.SplitSeq(text, "\n") {
		for row := range strings.SplitSeq(fit(line, width, height), "\n") {
			if !l.send(tea.Println(row)()) {
				_, _ = io.WriteString(l.out, row+"\n") // the error is kept in out
			}
		}
	}
	// The terminal may have echoed ^C into the view, which bubbletea does not
	// know: it draws all of the view again.
	l.send(tea.ClearScreen())
}

// fit returns a line in a form that bubbletea prints: it drops empty lines and
// miscounts the rows of lines that end at the last column. Rows that do not fit
// above the view would push the view out of the screen.
func fit(line string, width, height int) string {
	n := ansi.StringWidth(line)
	switch rows := (n + width - 1) / width; {
	case n == 0:
		return line + ansi.ResetStyle
	case n%width == 0, rows > max(1, height-maxRows):
		return ansi.Hardwrap(line, max(1, width-1), true)
	}
	return line
}

// send reports whether the program still runs.
func (l *Live) send(m tea.Msg) bool {
	l.program.Send(m)
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// Stop removes the view when all printed lines are out. It returns the first
// error of drawing.
func (l *Live) Stop() error {
	l.program.Send(stopMsg{})
	<-l.ended
	return errors.Join(l.err, l.out.failure())
}

type (
	tickMsg struct{}
	stopMsg struct{}
)

// liveModel is the view for bubbletea.
type liveModel struct {
	interval time.Duration
	render   func(width, rows int) string
	width    int
	height   int
	view     string
}

func (m *liveModel) tick() tea.Cmd {
	return tea.Tick(m.interval, func(time.Time) tea.Msg { return tickMsg{} })
}

// Init implements tea.Model.
func (m *liveModel) Init() tea.Cmd { return m.tick() }

// Update implements tea.Model.
func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tickMsg:
		m.view = m.lastRows(m.render(m.width, m.rows()))
		return m, m.tick()
	case stopMsg:
		m.view = ""
		return m, tea.Quit
	}
	return m, nil
}

// rows returns the number of rows that the view may have.
func (m *liveModel) rows() int { return max(1, min(maxRows, m.height-1)) }

// lastRows drops the first rows of a view that is too high.
func (m *liveModel) lastRows(view string) string {
	rows := strings.Split(strings.TrimSuffix(view, "\n"), "\n")
	return strings.Join(rows[max(0, len(rows)-m.rows()):], "\n")
}

// View implements tea.Model. Without bracketed paste the terminal's modes stay
// as they are.
func (m *liveModel) View() tea.View {
	v := tea.NewView(m.view)
	v.DisableBracketedPasteMode = true
	return v
}
