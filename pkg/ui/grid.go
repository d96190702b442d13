package ui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// grid is a table as lines of text. A cell may have several lines.
type grid struct {
	columns []Column
	widths  []int
	text    strings.Builder
}

// newGrid draws the table. A row with fewer cells than columns ends with empty ones.
func newGrid(columns []Column, rows [][]string) *grid {
	g := &grid{columns: columns, widths: make([]int, len(columns))}
	titles := make([]string, len(columns))
	for i, c := range columns {
		titles[i] = c.Title
	}
	lines := [][][]string{g.split(titles)}
	for _, row := range rows {
		lines = append(lines, g.split(row))
	}
	g.rule("┌", "┬", "┐")
	g.row(lines[0])
	if len(rows) > 0 {
		g.rule("├", "┼", "┤")
	}
	for _, row := range lines[1:] {
		g.row(row)
	}
	g.rule("└", "┴", "┘")
	return g
}

// split returns the lines of each cell and widens the columns to them.
func (g *grid) split(cells []string) [][]string {
	all := make([][]string, len(g.columns))
	for i := range min(len(cells), len(all)) {
		for line := range strings.SplitSeq(cells[i], "\n") {
			line = strings.TrimSpace(line)
			g.widths[i] = max(g.widths[i], ansi.StringWidth(line))
			all[i] = append(all[i], line)
		}
	}
	return all
}

func (g *grid) rule(left, between, right string) {
	for _, width := range g.widths {
		g.text.WriteString(left + strings.Repeat("─", width+2))
		left = between
	}
	g.text.WriteString(right + "\n")
}

func (g *grid) row(cells [][]string) {
	height := 1
	for _, lines := range cells {
		height = max(height, len(lines))
	}
	for k := range height {
		for i, lines := range cells {
			line := ""
			if k < len(lines) {
				line = lines[k]
			}
			blanks := strings.Repeat(" ", g.widths[i]-ansi.StringWidth(line))
			if g.columns[i].Align == Right {
				line = blanks + line
			} else {
				line += blanks
			}
			g.text.WriteString("│ " + line + " ")
		}
		g.text.WriteString("│\n")
	}
}
