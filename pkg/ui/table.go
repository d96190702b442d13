// Package ui draws tables and live views on terminals, and writes tables as Markdown and HTML.
// A live view is redrawn while a program works, below the lines that the program prints. The
// package knows nothing about what it draws.
package ui

import (
	"fmt"
	"io"
	"slices"

	"github.com/charmbracelet/x/ansi"
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

// Table writes rows under the columns, in box-drawing lines. On a terminal that is too narrow, spare
// columns are dropped first, then cells are wrapped between words; if not even the words fit, each row
// is a block of lines.
func Table(w io.Writer, columns []Column, rows [][]string) error {
	if width, _ := terminalSize(w); width > 0 {
		columns, rows = narrow(width, columns, rows)
		var fits bool
		if columns, rows, fits = wrapCells(width, columns, rows); !fits {
			return writeBlocks(w, width, columns, rows)
		}
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
	for _, line := range d.Lead {
		if err := WriteLine(w, line); err != nil {
			return err
		}
	}
	if err := Table(w, d.Columns, d.Rows); err != nil {
		return err
	}
	for _, note := range d.Notes {
		if err := WriteLine(w, note); err != nil {
			return err
		}
	}
	return nil
}

// narrow drops spare columns until the table is not wider than width.
func narrow(width int, columns []Column, rows [][]string) ([]Column, [][]string) {
	for tableWidth(columns, rows) > width {
		most := slices.MaxFunc(columns, func(a, b Column) int { return a.Spare - b.Spare }).Spare
		if most == 0 {
			break
		}
		kept := make([][]string, len(rows))
		var left []Column
		for i, c := range columns {
			if c.Spare == most {
				continue
			}
			left = append(left, c)
			for k, row := range rows {
				kept[k] = append(kept[k], row[i])
			}
		}
		columns, rows = left, kept
	}
	return columns, rows
}

func tableWidth(columns []Column, rows [][]string) int {
	total := 1
	for i, c := range columns {
		widest := ansi.StringWidth(c.Title)
		for _, row := range rows {
			widest = max(widest, ansi.StringWidth(row[i]))
		}
		total += widest + 3 // two blanks and a line
	}
	return total
}
