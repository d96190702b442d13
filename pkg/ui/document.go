package ui

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Document is a table with lines of text below it, for a file.
type Document struct {
	Title   string
	Columns []Column
	Rows    [][]string
	Notes   []string
}

var markdownText = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`)

// WriteMarkdown writes a document in GitHub's Markdown, with aligned columns. A document
// without rows has no table.
func WriteMarkdown(w io.Writer, d Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", markdownText.Replace(d.Title))
	if len(d.Rows) > 0 {
		b.WriteByte('\n')
		markdownTable(&b, d)
	}
	if len(d.Notes) > 0 {
		b.WriteByte('\n')
	}
	for _, note := range d.Notes {
		fmt.Fprintf(&b, "- %s\n", markdownText.Replace(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownTable(b *strings.Builder, d Document) {
	header := make([]string, len(d.Columns))
	widths := make([]int, len(d.Columns))
	for i, c := range d.Columns {
		header[i] = markdownText.Replace(c.Title)
		widths[i] = max(3, ansi.StringWidth(header[i]))
	}
	rows := make([][]string, len(d.Rows))
	for r, row := range d.Rows {
		rows[r] = make([]string, len(row))
		for i, cell := range row {
			rows[r][i] = markdownText.Replace(cell)
			widths[i] = max(widths[i], ansi.StringWidth(rows[r][i]))
		}
	}
	line := func(cells []string) {
		for i, cell := range cells {
			fill := strings.Repeat(" ", widths[i]-ansi.StringWidth(cell))
			if d.Columns[i].Align == Right {
				cell = fill + cell
			} else {
				cell += fill
			}
			b.WriteString("| " + cell + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	for i, c := range d.Columns {
		dashes := strings.Repeat("-", widths[i])
		if c.Align == Right {
			dashes = dashes[1:] + ":"
		}
		b.WriteString("| " + dashes + " ")
	}
	b.WriteString("|\n")
	for _, row := range rows {
		line(row)
	}
}

//go:embed document.html
var page string

var pageTemplate = template.Must(template.New("document").Funcs(template.FuncMap{
	"right": func(columns []Column, i int) bool { return columns[i].Align == Right },
}).Parse(page))

// WriteHTML writes a document as one page that needs no other file.
func WriteHTML(w io.Writer, d Document) error { return pageTemplate.Execute(w, d) }
