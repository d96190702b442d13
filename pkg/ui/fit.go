// How tables and lines fit a terminal: cells and lines are wrapped between words, and a table of
// which not even the words fit is written as one block of lines for each row.

package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// usualWidth is the number of columns of a line where no terminal says it.
const usualWidth = 80

// LineWidth returns the number of columns of the terminal behind w, and usualWidth without one.
func LineWidth(w io.Writer) int {
	if width, _ := TerminalSize(w); width > 0 {
		return width
	}
	return usualWidth
}

// WriteLine writes a text in lines that fit the terminal, or 80 columns without one. Lines break between words, and
// those after the first begin two columns further than the text does. A word that is longer than a line, such as a
// path, stays whole: a terminal breaks it too, but then it is copied and found as one.
func WriteLine(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, strings.Join(wrap(text, LineWidth(w), "  "), "\n"))
	return err
}

// WriteParagraph writes a blank line and a text, all of whose lines begin alike. Otherwise it is as WriteLine.
func WriteParagraph(w io.Writer, text string) error {
	_, err := fmt.Fprintln(w, "\n"+strings.Join(wrap(text, LineWidth(w), ""), "\n"))
	return err
}

// WriteLines writes each text as WriteLine does.
func WriteLines(w io.Writer, texts []string) error {
	for _, text := range texts {
		if err := WriteLine(w, text); err != nil {
			return err
		}
	}
	return nil
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
		for i, word := range words(part) {
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

// units are what follows a number and stays with it.
var units = []string{"%", "ns", "us", "µs", "ms", "s", "B", "KiB", "MiB", "GiB", "TiB"}

// words returns the words of a text, a number with its unit as one.
func words(text string) []string {
	all := strings.Fields(text)
	kept := all[:0]
	for i, word := range all {
		if i > 0 && slices.Contains(units, strings.TrimRight(word, ",.;:)")) && strings.ContainsAny(kept[len(kept)-1], "0123456789") {
			kept[len(kept)-1] += " " + word
		} else {
			kept = append(kept, word)
		}
	}
	return kept
}

// split breaks a word into pieces of at most width columns, after a separator where there is one.
func split(word string, width int) []string {
	var pieces []string
	for ansi.StringWidth(word) > width {
		piece := ansi.Truncate(word, width, "")
		if piece == "" { // not even one character fits
			break
		}
		if at := strings.LastIndexAny(piece, "/\\_-.,:;=&?"); at > 0 {
			piece = piece[:at+1]
		}
		pieces = append(pieces, piece)
		word = strings.TrimPrefix(word, piece)
	}
	return append(pieces, word)
}

// wrapCell wraps a cell, and breaks words that are longer than it is wide: they would break the lines of the table.
func wrapCell(text string, width int) []string {
	var lines []string
	for _, line := range wrap(text, width, "") {
		lines = append(lines, split(line, width)...)
	}
	return lines
}

// textWidth is the width at which a column of texts needs no more room.
const textWidth = 24

// columnWidths returns the width of a column at which nothing is wrapped, the least one, and the one at which it can be
// read well: titles are wrapped, and texts longer than textWidth. One long path is no reason to give up the table: in
// columns of texts words beyond textWidth are broken.
func columnWidths(at int, c Column, rows [][]string) (whole, least, readable int) {
	whole, least = cellWidth(c.Title)
	cells := 0
	for _, row := range rows {
		line, word := cellWidth(row[at])
		cells = max(cells, line)
		if c.Align == Left {
			word = min(word, textWidth)
		}
		least = max(least, word)
	}
	return max(whole, cells), least, max(least, min(cells, textWidth))
}

// narrow drops spare columns until there is room for the others: of those with the highest value the last one first. A
// text counts as wrapped, so that a long note takes no figures off the table.
func narrow(width int, columns []Column, rows [][]string) ([]Column, [][]string) {
	for {
		total, drop := 1, -1
		for i, c := range columns {
			_, _, readable := columnWidths(i, c, rows)
			total += readable + 3 // two blanks and a line
			if c.Spare > 0 && (drop < 0 || c.Spare >= columns[drop].Spare) {
				drop = i
			}
		}
		if total <= width || drop < 0 {
			return columns, rows
		}
		columns = slices.Delete(slices.Clone(columns), drop, drop+1)
		kept := make([][]string, len(rows))
		for k, row := range rows {
			kept[k] = slices.Delete(slices.Clone(row), drop, drop+1)
		}
		rows = kept
	}
}

// wrapCells wraps the widest cells and titles until the table is at most width columns wide. It
// reports whether the words leave room for that.
func wrapCells(width int, columns []Column, rows [][]string) ([]Column, [][]string, bool) {
	limits, least := make([]int, len(columns)), make([]int, len(columns))
	total := 1
	for i, c := range columns {
		limits[i], least[i], _ = columnWidths(i, c, rows)
		total += limits[i] + 3
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
	cell := func(i int, text string) string { return strings.Join(wrapCell(text, limits[i]), "\n") }
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
	for _, part := range words(text) {
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
			value := strings.Join(wrapCell(row[k], max(1, width-longest-2)), "\n"+indent)
			b.WriteString(title + value + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
