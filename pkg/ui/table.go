// Package ui draws tables and live views on terminals, and writes tables as Markdown and HTML.
// A live view is redrawn while a program works, below the lines that the program prints. The
// package knows nothing about what it draws.
package ui

import (
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Align is the alignment of a column.
type Align uint8

// The alignments.
const (
	Left Align = iota
	Right
)

// Column is the head of one column.
type Column struct {
	Title string
	Align Align
	// Spare columns are dropped when the terminal is too narrow, those with the
	// highest value first. A column with 0 always stays.
	Spare int
}

// Table writes rows under the columns, in box-drawing lines. It fits the terminal, or 80 columns without one: spare
// columns are dropped first, then cells are wrapped between words; if not even the words fit, each row is a block of
// lines.
func Table(w io.Writer, columns []Column, rows [][]string) error {
	width := LineWidth(w)
	columns, rows = narrow(width, columns, rows)
	columns, rows, fits := wrapCells(width, columns, rows)
	if !fits {
		return writeBlocks(w, width, columns, rows)
	}
	header := make([]string, len(columns))
	align := make(tw.Alignment, len(columns))
	for i, c := range columns {
		header[i], align[i] = c.Title, tw.AlignLeft
		if c.Align == Right {
			align[i] = tw.AlignRight
		}
	}
	t := tablewriter.NewTable(w,
		tablewriter.WithSymbols(tw.NewSymbols(tw.StyleLight)),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithAlignment(align),
	)
	t.Header(header)
	if err := t.Bulk(rows); err != nil {
		return fmt.Errorf("table: %w", err)
	}
	return t.Render()
}

// WriteText writes a document for people: its table, and the lines above and below it.
func WriteText(w io.Writer, d Document) error {
	if err := WriteLines(w, d.Lead); err != nil {
		return err
	}
	if err := Table(w, d.Columns, d.Rows); err != nil {
		return err
	}
	return WriteLines(w, d.Notes)
}
