package ui

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// Document is a table with lines of text above and below it, for a file.
type Document struct {
	Title   string
	Lead    []string // above the table
	Columns []Column
	Rows    [][]string
	Notes   []string
}

var markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "\r\n", "<br>", "\n", "<br>", "<", "&lt;", "*", `\*`, "_", `\_`, "`", "\\`", "[", `\[`)

// MarkdownText returns a text that GitHub's Markdown shows as it is, also in a cell of a table.
func MarkdownText(s string) string { return markdownEscapes.Replace(s) }

// WriteMarkdown writes a document in GitHub's Markdown, with aligned columns. A document
// without rows has no table.
func WriteMarkdown(w io.Writer, d Document) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", MarkdownText(d.Title))
	markdownList(&b, d.Lead)
	if len(d.Rows) > 0 {
		b.WriteByte('\n')
		markdownTable(&b, d)
	}
	markdownList(&b, d.Notes)
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownList(b *strings.Builder, lines []string) {
	if len(lines) > 0 {
		b.WriteByte('\n')
	}
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", MarkdownText(line))
	}
}

func markdownTable(b *strings.Builder, d Document) {
	header := make([]string, len(d.Columns))
	widths := make([]int, len(d.Columns))
	for i, c := range d.Columns {
		header[i] = MarkdownText(c.Title)
		widths[i] = max(3, ansi.StringWidth(header[i]))
	}
	rows := make([][]string, len(d.Rows))
	for r, row := range d.Rows {
		rows[r] = make([]string, len(row))
		for i, cell := range row {
			rows[r][i] = MarkdownText(cell)
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

//go:embed document.css
var documentStyle string

// WriteHTML writes a document as one page that needs no other file.
func WriteHTML(w io.Writer, d Document) error {
	return WritePage(w, PageHead{Title: d.Title, Style: documentStyle},
		html.Main(PageLines(
			html.H1(g.Text(d.Title)),
			htmlList(d.Lead),
			g.Iff(len(d.Rows) > 0, func() g.Node { return PageScroll("table", d.Title, d.table()) }),
			htmlList(d.Notes),
		)))
}

func htmlList(lines []string) g.Node {
	return g.Iff(len(lines) > 0, func() g.Node {
		return html.Ul(PageLines(g.Map(lines, func(s string) g.Node { return html.Li(g.Text(s)) })...))
	})
}

func (d Document) table() g.Node {
	right := func(column int) g.Node { return g.If(d.Columns[column].Align == Right, html.Class("right")) }
	var heads g.Group
	var rows []g.Node
	for i, c := range d.Columns {
		heads = append(heads, PageColumnHead(right(i), g.Text(c.Title)))
	}
	for _, row := range d.Rows {
		var cells []g.Node
		for i, cell := range row {
			cells = append(cells, html.Td(right(i), g.Text(cell)))
		}
		rows = append(rows, html.Tr(cells...))
	}
	return PageTable(heads, rows)
}
