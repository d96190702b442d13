// The three result tables of a profile, written as CSV files and on the console in the form of Model
// Analyzer.

package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// resultTable is a result table. Cells are as in the CSV file: quoted if they hold several values.
type resultTable struct {
	Title   string
	Headers []string
	Rows    [][]string
	// Warnings name output fields that were left out.
	Warnings []string
}

// WriteCSV writes the header and the rows, and an empty line at the end.
func (t *resultTable) WriteCSV(w io.Writer) error {
	var b strings.Builder
	for _, row := range t.lines() {
		b.WriteString(strings.Join(row, ","))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteText writes the table for a console: left-aligned columns, each two blanks wider than its
// longest cell, with an empty line at the end.
func (t *resultTable) WriteText(w io.Writer) error {
	widths := make([]int, len(t.Headers))
	for _, row := range t.lines() {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell)+2)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:\n", t.Title)
	for _, row := range t.lines() {
		for i, cell := range row {
			if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *resultTable) lines() [][]string { return append([][]string{t.Headers}, t.Rows...) }
