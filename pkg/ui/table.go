// Package ui draws on terminals: tables, and a view that is redrawn while a
// program works and stays out of the way of its lines. It knows nothing of what
// it draws.
package ui

import (
	"fmt"
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Align is how a column is set.
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
}

// Table writes rows under the columns, in box-drawing lines.
func Table(w io.Writer, columns []Column, rows [][]string) error {
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
