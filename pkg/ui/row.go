package ui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Part is a piece of a row or of a view.
type Part struct {
	Text string
	// Spare parts are dropped when there is no room for them, those with the highest value
	// first. A part with 0 always stays.
	Spare int
}

// Row joins parts with two blanks to a row of at most width columns. What does not fit after
// the spare parts are dropped is cut.
func Row(width int, parts ...Part) string {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Text == "" })
	for {
		texts := make([]string, len(parts))
		for i, p := range parts {
			texts[i] = p.Text
		}
		row := strings.Join(texts, "  ")
		if ansi.StringWidth(row) <= width {
			return row
		}
		rest, dropped := dropSpare(parts)
		if !dropped {
			return ansi.Truncate(row, width, "…")
		}
		parts = rest
	}
}

// View joins rows to a view of at most the given number of rows.
func View(rows int, parts ...Part) string {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool { return p.Text == "" })
	for len(parts) > rows {
		rest, dropped := dropSpare(parts)
		if !dropped {
			rest = parts[:rows]
		}
		parts = rest
	}
	texts := make([]string, len(parts))
	for i, p := range parts {
		texts[i] = p.Text
	}
	return strings.Join(texts, "\n")
}

// dropSpare removes the last part with the highest value of Spare and reports whether there
// was one.
func dropSpare(parts []Part) ([]Part, bool) {
	at := -1
	for i, p := range parts {
		if p.Spare > 0 && (at < 0 || p.Spare >= parts[at].Spare) {
			at = i
		}
	}
	if at < 0 {
		return parts, false
	}
	return slices.Delete(parts, at, at+1), true
}
