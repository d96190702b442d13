package ui_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

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

// TestWidths keeps what terminals of four widths show of a long cell, of many columns and of notes.
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
	sharedtest.GoldenWidths(t, "tables", func(w io.Writer) error {
		return errors.Join(ui.WriteText(w, findings), ui.WriteText(w, metrics))
	})
}

func TestWriteLine(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	require.NoError(t, ui.WriteLine(&file, "  why: more instances lower the throughput, by 5.1 %, see /a/path/that-is/not-broken at all"))
	require.Equal(t, "  why: more instances lower the throughput, by 5.1 %, see\n    /a/path/that-is/not-broken at all\n", file.String(),
		"80 columns without a terminal")
	for _, c := range []struct{ text, want string }{
		{"a text of many words", "a text of\n  many\n  words\n"},
		{"a-word-that-is-longer than it", "a-word-that-is-longer\n  than it\n"},
		{"  - an item of it", "  - an\n    item\n    of it\n"},
		{"lower by 5 %, or so", "lower by\n  5 %, or\n  so\n"},
		{"first\nsecond", "first\nsecond\n"},
		{"", "\n"},
	} {
		out := screen{width: 9}
		require.NoError(t, ui.WriteLine(&out, c.text))
		require.Equal(t, c.want, out.String())
	}
}

// TestLongWords breaks words that are wider than the table: after a separator, or else anywhere.
func TestLongWords(t *testing.T) {
	t.Parallel()
	out := screen{width: 20}
	require.NoError(t, ui.Table(&out, []ui.Column{{Title: "Name"}, {Title: "Found"}},
		[][]string{{"library", "/opt/tritonserver/lib/libonnxruntime.so.1"}, {"UUID", "0123456789abcdef0123456789"}}))
	require.Equal(t, `Name   library
Found  /opt/
       tritonserver/
       lib/
       libonnxruntim
       e.so.1

Name   UUID
Found  0123456789abc
       def0123456789
`, out.String())
}

// TestTableOffATerminal fits 80 columns too, and a long text takes no spare column off the table.
func TestTableOffATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, ui.Table(&out, []ui.Column{{Title: "Level", Align: ui.Right}, {Title: "Grade", Spare: 1}, {Title: "Note"}},
		[][]string{{"8", "A", "the client was the limit, requests started late, 12 requests failed, and more of that"}}))
	require.Equal(t, `┌───────┬───────┬──────────────────────────────────────────────────────────────┐
│ Level │ Grade │ Note                                                         │
├───────┼───────┼──────────────────────────────────────────────────────────────┤
│     8 │ A     │ the client was the limit, requests started late, 12 requests │
│       │       │ failed, and more of that                                     │
└───────┴───────┴──────────────────────────────────────────────────────────────┘
`, out.String())
}
