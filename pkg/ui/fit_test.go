package ui_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/pkg/ui"
)

// screen is a terminal of a width.
type screen struct {
	bytes.Buffer
	width int
}

func (s *screen) Size() (width, height int) { return s.width, 24 }

// TestWidths keeps what terminals of four widths show of a long cell, of many columns and of notes; no
// line is wider than the terminal and no word is broken.
func TestWidths(t *testing.T) {
	t.Parallel()
	findings := ui.Document{
		Columns: []ui.Column{{Title: ""}, {Title: "Check"}, {Title: "Found"}},
		Rows: [][]string{
			{"ok", "program", "triton 1.2"},
			{"warning", "processors", "the governor powersave lowers the clock of 2 of 2 processors while they wait, so latencies of single requests are longer"},
		},
		Notes: []string{"warning, processors: set the governor performance while you measure: cpupower frequency-set --governor performance"},
	}
	metrics := ui.Document{Rows: [][]string{{"resnet50_config_default", "64", "12345.678"}, {"resnet50_config_1", "128", "9.5"}}}
	metrics.Columns = []ui.Column{{Title: "Model Config Name"}, {Title: "Max Batch Size"}, {Title: "Throughput (infer/sec)", Align: ui.Right}}
	for i := range 4 {
		metrics.Columns = append(metrics.Columns, ui.Column{Title: fmt.Sprintf("Measurement %d Memory (MB)", i), Align: ui.Right})
		for k := range metrics.Rows {
			metrics.Rows[k] = append(metrics.Rows[k], fmt.Sprint(1000*i+k))
		}
	}
	for _, width := range []int{60, 80, 120, 200} {
		out := screen{width: width}
		for _, d := range []ui.Document{findings, metrics} {
			require.NoError(t, ui.WriteText(&out, d))
		}
		for line := range strings.Lines(out.String()) {
			require.LessOrEqual(t, ansi.StringWidth(strings.TrimSuffix(line, "\n")), width, line)
		}
		sharedtest.GoldenFile(t, fmt.Sprintf("width%d.txt", width), out.String())
	}
}

func TestWriteLine(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	require.NoError(t, ui.WriteLine(&file, "a text of many words stays one line in a file"))
	require.Equal(t, "a text of many words stays one line in a file\n", file.String())
	for _, c := range []struct{ text, want string }{
		{"a text of many words", "a text of\n  many\n  words\n"},
		{"a-word-that-is-longer than it", "a-word-that-is-longer\n  than it\n"},
		{"  - an item of it", "  - an\n    item\n    of it\n"},
		{"first\nsecond", "first\nsecond\n"},
		{"", "\n"},
	} {
		out := screen{width: 9}
		require.NoError(t, ui.WriteLine(&out, c.text))
		require.Equal(t, c.want, out.String())
	}
}
