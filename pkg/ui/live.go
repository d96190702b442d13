package ui

import (
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
func StartLive(out io.Writer, every time.Duration, render func(width int) string) *Live {
	l := &Live{}
	l.program = tea.NewProgram(liveModel{every: every, render: render, width: 80},
		tea.WithOutput(out), tea.WithInput(nil), tea.WithoutSignalHandler(), tea.WithoutCatchPanics())
	l.wg.Go(func() { _, l.err = l.program.Run() })
	return l
}

// Print puts text above the view.
func (l *Live) Print(text string) { l.program.Println(strings.TrimSuffix(text, "\n")) }

// Stop takes the view away once all printed text is out.
func (l *Live) Stop() error {
	l.program.Send(clearMsg{})
	l.program.Quit()
	l.wg.Wait()
	return l.err
}

type (
	tickMsg  struct{}
	clearMsg struct{}
)

type liveModel struct {
	every  time.Duration
	render func(width int) string
	width  int
	ended  bool
}

func (m liveModel) tick() tea.Cmd {
	return tea.Tick(m.every, func(time.Time) tea.Msg { return tickMsg{} })
}

func (m liveModel) Init() tea.Cmd { return m.tick() }

func (m liveModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		if msg.Width > 0 {
			m.width = msg.Width
		}
	case tickMsg:
		return m, m.tick()
	case clearMsg:
		m.ended = true
	}
	return m, nil
}

func (m liveModel) View() tea.View {
	if m.ended {
		return tea.NewView("")
	}
	return tea.NewView(m.render(m.width))
}

// Strong and Faint set text off; terminals without styles show it plain.
func Strong(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

// Faint is the quieter of the two.
func Faint(s string) string { return "\x1b[2m" + s + "\x1b[0m" }
