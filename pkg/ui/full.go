package ui

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Full is a view that has the whole terminal and answers keys. Its methods are called from one
// goroutine.
type Full interface {
	// Draw returns the view for the columns and rows of the terminal.
	Draw(width, height int) string
	// Key answers a key and reports whether the view ends. The name is that of a special key, such
	// as "up", "pgdown", "enter", "esc", "backspace" and "ctrl+c", or the character.
	Key(name string) (end bool)
}

// ShowFull draws a view until one of its keys or the context ends it, again after each interval and
// each key. What the terminal showed before is there again afterwards. Signals stay with the program.
// A panic of the view is an error, so that the terminal is usable after it.
func ShowFull(ctx context.Context, in io.Reader, to io.Writer, interval time.Duration, view Full) error {
	out := newOutput(to)
	width, height := out.size()
	_, err := tea.NewProgram(&fullModel{view: view, interval: interval, width: width, height: height},
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out.terminal()), tea.WithoutSignalHandler(),
		tea.WithWindowSize(width, height), tea.WithFPS(framesPerSecond)).Run()
	if ctx.Err() != nil {
		err = nil
	}
	return errors.Join(err, out.failure())
}

// fullModel is the view for bubbletea.
type fullModel struct {
	view          Full
	interval      time.Duration
	width, height int
	text          string
}

func (m *fullModel) draw() { m.text = clip(m.view.Draw(m.width, m.height), m.width, m.height) }

func (m *fullModel) tick() tea.Cmd {
	return tea.Tick(m.interval, func(time.Time) tea.Msg { return tickMsg{} })
}

// Init implements tea.Model.
func (m *fullModel) Init() tea.Cmd {
	m.draw()
	return m.tick()
}

// Update implements tea.Model.
func (m *fullModel) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if m.view.Key(msg.String()) {
			return m, tea.Quit
		}
	case tickMsg:
		m.draw()
		return m, m.tick()
	default:
		return m, nil
	}
	m.draw()
	return m, nil
}

// View implements tea.Model.
func (m *fullModel) View() tea.View {
	v := tea.NewView(m.text)
	v.AltScreen = true
	return v
}

// clip returns the part of a text that fits on a terminal.
func clip(text string, width, height int) string {
	rows := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	rows = rows[:min(len(rows), height)]
	for i, row := range rows {
		rows[i] = ansi.Truncate(row, width, "…")
	}
	return strings.Join(rows, "\n")
}
