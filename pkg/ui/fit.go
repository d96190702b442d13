// How tables and lines fit a terminal: cells and lines are wrapped between words, and a table of
// which not even the words fit is written as one block of lines for each row.

package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// WriteLine writes a text and a line feed. On a terminal it is wrapped between words, with the
// continued lines indented by two blanks, because terminals themselves break words.
func WriteLine(w io.Writer, text string) error {
	if width, _ := terminalSize(w); width > 0 {
		text = strings.Join(wrap(text, width, "  "), "\n")
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// wrap breaks a text between words into lines of at most width columns; a word that is longer has a
// line of its own. Lines after the first begin with the indent. A text that fits is not changed.
func wrap(text string, width int, indent string) []string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		if ansi.StringWidth(part) <= width {
			lines = append(lines, part)
			continue
		}
		start := part[:len(part)-len(strings.TrimLeft(part, " "))]
		line := start
		for i, word := range strings.Fields(part) {
			switch {
			case i == 0:
				line += word
			case ansi.StringWidth(line)+1+ansi.StringWidth(word) > width:
				lines = append(lines, line)
				line = start + indent + word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// wrapCells wraps the widest cells and titles until the table is at most width columns wide. It
// reports whether the words leave room for that.
func wrapCells(width int, columns []Column, rows [][]string) ([]Column, [][]string, bool) {
	limits, least := make([]int, len(columns)), make([]int, len(columns))
	total := 1
	for i, c := range columns {
		limits[i], least[i] = cellWidth(c.Title)
		for _, row := range rows {
			whole, word := cellWidth(row[i])
			limits[i], least[i] = max(limits[i], whole), max(least[i], word)
		}
		total += limits[i] + 3 // two blanks and a line
	}
	for ; total > width; total-- {
		widest := -1
		for i := range limits {
			if limits[i] > least[i] && (widest < 0 || limits[i] > limits[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return columns, rows, false
		}
		limits[widest]--
	}
	heads := make([]Column, len(columns))
	cell := func(i int, text string) string { return strings.Join(wrap(text, limits[i], ""), "\n") }
	for i, c := range columns {
		heads[i] = c
		heads[i].Title = cell(i, c.Title)
	}
	cells := make([][]string, len(rows))
	for k, row := range rows {
		for i := range columns {
			cells[k] = append(cells[k], cell(i, row[i]))
		}
	}
	return heads, cells, true
}

// cellWidth returns the width of the longest line of a cell and of its longest word.
func cellWidth(text string) (line, word int) {
	for part := range strings.SplitSeq(text, "\n") {
		line = max(line, ansi.StringWidth(part))
	}
	for _, part := range strings.Fields(text) {
		word = max(word, ansi.StringWidth(part))
	}
	return line, word
}

// writeBlocks writes each row as lines of titles and values, with a blank line between rows. Empty
// cells are left out.
func writeBlocks(w io.Writer, width int, columns []Column, rows [][]string) error {
	longest := 0
	for _, c := range columns {
		longest = max(longest, ansi.StringWidth(c.Title))
	}
	var b strings.Builder
	for i, row := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		for k, c := range columns {
			if row[k] == "" {
				continue
			}
			indent := strings.Repeat(" ", longest+2)
			title := c.Title + indent[ansi.StringWidth(c.Title):]
			value := strings.Join(wrap(row[k], max(1, width-longest-2), ""), "\n"+indent)
			b.WriteString(title + value + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
