package top

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"triton/pkg/ui"
)

// minName is the least width of the column of models; longer names are cut.
const minName = 12

// printable returns a text of the server, or of an error with its answer, without what a terminal would
// obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, text)
}

// layout chooses the columns for a width and returns them with their widths. Columns are left out before names of models
// are cut to less than a number of columns.
func layout(width int, rows []Row, name int) ([]column, []int) {
	shown := columns
	for {
		widths := make([]int, len(shown))
		total, longest := 0, 0
		for i, c := range shown {
			widths[i] = len(c.title) + 1 // and the mark of the sorted column
			for k := range rows {
				widths[i] = max(widths[i], ansi.StringWidth(printable(c.text(&rows[k]))))
			}
			if i == 0 {
				longest = widths[i]
				widths[i] = min(longest, name)
			}
			total += widths[i] + 1
		}
		spare := -1
		for i, c := range shown {
			if c.spare > 0 && (spare < 0 || c.spare > shown[spare].spare) {
				spare = i
			}
		}
		if total-1 <= width || spare < 0 {
			widths[0] = min(longest, max(widths[0]+width-(total-1), 1))
			return shown, widths
		}
		shown = append(append([]column(nil), shown[:spare]...), shown[spare+1:]...)
	}
}

// line returns a row of the table.
func line(shown []column, widths []int, text func(c *column) string) string {
	cells := make([]string, len(shown))
	for i := range shown {
		t := ansi.Truncate(printable(text(&shown[i])), widths[i], "…")
		pad := strings.Repeat(" ", max(0, widths[i]-ansi.StringWidth(t)))
		if shown[i].align == ui.Right {
			cells[i] = pad + t
		} else {
			cells[i] = t + pad
		}
	}
	return strings.TrimRight(strings.Join(cells, " "), " ")
}

// header returns the titles of the columns with a mark at the one that rows are sorted by.
func header(shown []column, widths []int, by string, reverse bool) string {
	return line(shown, widths, func(c *column) string {
		switch {
		case c.name != by:
			return c.title
		case reverse != (c.number == nil):
			return c.title + "▲"
		}
		return c.title + "▼"
	})
}

// machineRow returns the load of the machine.
func machineRow(width int, m *Machine) string {
	var parts []ui.Part
	if m.CPUPercent != nil {
		parts = append(parts, ui.Part{Text: "cpu " + percent(*m.CPUPercent)})
	}
	if m.MemoryBytes != nil && m.MemoryTotalBytes != nil {
		parts = append(parts, ui.Part{Text: fmt.Sprintf("memory %s of %s", ui.Bytes(*m.MemoryBytes), ui.Bytes(*m.MemoryTotalBytes)), Spare: 1})
	}
	for i, g := range m.GPUs {
		text := fmt.Sprintf("gpu %d", i)
		if g.Percent != nil {
			text += " " + percent(*g.Percent)
		}
		if g.MemoryBytes != nil && g.MemoryTotalBytes != nil {
			text += fmt.Sprintf(" %s of %s", ui.Bytes(*g.MemoryBytes), ui.Bytes(*g.MemoryTotalBytes))
		}
		parts = append(parts, ui.Part{Text: text, Spare: 2 + i})
	}
	if m.WaitingRequests != nil && *m.WaitingRequests > 0 {
		parts = append(parts, ui.Part{Text: whole(*m.WaitingRequests) + " waiting for a load", Spare: 1})
	}
	return ui.Row(width, parts...)
}

// writeText writes a table for people and scripts that fits the terminal, or 80 columns without one. Names are cut only
// where nothing else can be left out.
func (t *Table) writeText(w io.Writer, by string, reverse bool) error {
	width := ui.LineWidth(w)
	rows := append([]Row{t.All}, t.Rows...)
	shown, widths := layout(width, rows, math.MaxInt)
	var lines []string
	for _, s := range []string{printable(t.Server), machineRow(width, &t.Machine)} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	for _, n := range t.Notes {
		lines = append(lines, "note: "+printable(n))
	}
	if err := ui.WriteLines(w, lines); err != nil {
		return err
	}
	text := header(shown, widths, by, reverse) + "\n"
	for k := range rows {
		text += line(shown, widths, func(c *column) string { return c.text(&rows[k]) }) + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}

// head returns the first row of the view.
func (v *view) head(width int, now time.Time) string {
	server := cmp.Or(printable(v.table.Server), "server")
	left := ui.Part{Text: ui.Strong(server) + " at " + v.address}
	switch {
	case v.err != nil && v.table.Rows == nil:
		return ui.Row(width, ui.Part{Text: "waiting for the server at " + v.address})
	case v.err != nil:
		return ui.Row(width, left, ui.Part{Text: v.colors.Warn(fmt.Sprintf("no answer for %s, asking again", ui.Clock(now.Sub(v.read)))), Spare: 1})
	}
	return ui.Row(width, left, ui.Part{Text: "every " + v.interval.String(), Spare: 1})
}
