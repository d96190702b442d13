package ui

import (
	"errors"
	"io"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
)

// Live is a view below the printed lines that is redrawn until Stop. Keys and
// signals stay with the program.
type Live struct {
	program *tea.Program
	wg      sync.WaitGroup
	err     error
}

// StartLive draws what render returns for a terminal's width, again and again.
// The drawing is our own: bubbletea's renderer overwrites lines that are printed
// before its first frame, and asks the terminal questions whose answers nobody
// would read.
func StartLive(out io.Writer, every time.Duration, render func(width int) string) *Live {
	l := &Live{}
	m := &liveModel{every: every, render: render, painter: newPainter(out)}
	l.program = tea.NewProgram(m, tea.WithoutRenderer(), tea.WithOutput(out), tea.WithInput(nil),
		tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	l.wg.Go(func() {
		defer obeySequences(out)()
		_, err := l.program.Run()
		l.err = errors.Join(err, m.painter.err)
	})
	return l
}

// Print puts text above the view.
func (l *Live) Print(text string) { l.program.Send(printMsg(strings.TrimSuffix(text, "\n"))) }

// Stop takes the view away once all printed text is out.
func (l *Live) Stop() error {
	l.program.Send(stopMsg{})
	l.wg.Wait()
	return l.err
}

type (
	tickMsg  struct{}
	stopMsg  struct{}
	printMsg string
)

type liveModel struct {
	every   time.Duration
	render  func(width int) string
	painter *painter
}

func (m *liveModel) tick() tea.Cmd {
	return tea.Tick(m.every, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m *liveModel) Init() tea.Cmd { return m.tick() }

func (m *liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tickMsg:
		m.painter.draw(m.render(m.painter.measure()))
		return m, m.tick()
	case printMsg:
		m.painter.print(string(msg))
	case stopMsg:
		m.painter.clear()
		return m, tea.Quit
	}
	return m, nil
}

// View is empty: Update has the painter draw.
func (m *liveModel) View() tea.View { return tea.View{} }

// Strong and Faint set text off; terminals without styles show it plain.
func Strong(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

// Faint is the quieter of the two.
func Faint(s string) string { return "\x1b[2m" + s + "\x1b[0m" }
