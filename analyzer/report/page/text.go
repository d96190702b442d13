package page

import (
	"fmt"
	"io"
	"strings"

	"triton/pkg/ui"
)

// WriteText writes the page for a terminal, without its charts.
func (p *Page) WriteText(w io.Writer) error {
	if err := ui.WriteLine(w, p.heading()); err != nil {
		return err
	}
	for _, b := range p.Blocks {
		switch b := b.(type) {
		case Heading:
			if err := ui.WriteParagraph(w, string(b)); err != nil {
				return err
			}
		case Paragraph:
			if err := ui.WriteParagraph(w, Text(b).String()); err != nil {
				return err
			}
		case Code:
			if err := ui.WriteLines(w, b); err != nil {
				return err
			}
		case List:
			for _, t := range b {
				if err := ui.WriteLine(w, "  - "+t.String()); err != nil {
					return err
				}
			}
		case Table:
			if err := ui.WriteParagraph(w, b.Caption); err != nil {
				return err
			}
			columns := make([]ui.Column, len(b.Columns))
			for i, c := range b.Columns {
				columns[i] = ui.Column{Title: c.title(), Align: map[bool]ui.Align{true: ui.Right}[c.Number]}
			}
			rows := make([][]string, len(b.Rows))
			for i, row := range b.Rows {
				for _, cell := range row {
					rows[i] = append(rows[i], cell.String())
				}
			}
			if err := ui.Table(w, columns, rows); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *Page) heading() string {
	if p.Subtitle == "" {
		return p.Title
	}
	return p.Title + ", " + p.Subtitle
}

func (c Column) title() string {
	if c.Own {
		return c.Title + "*"
	}
	return c.Title
}

// WriteMarkdown writes the page in GitHub's Markdown, without its charts.
func (p *Page) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", ui.MarkdownText(p.heading()))
	for _, block := range p.Blocks {
		switch block := block.(type) {
		case Heading:
			fmt.Fprintf(&b, "\n## %s\n", ui.MarkdownText(string(block)))
		case Paragraph:
			fmt.Fprintf(&b, "\n%s\n", Text(block).markdown())
		case Code:
			fmt.Fprintf(&b, "\n```\n%s\n```\n", strings.Join(block, "\n"))
		case List:
			b.WriteByte('\n')
			for _, t := range block {
				fmt.Fprintf(&b, "- %s\n", t.markdown())
			}
		case Table:
			fmt.Fprintf(&b, "\n%s\n\n", ui.MarkdownText(block.Caption))
			block.markdown(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Text) markdown() string {
	var b strings.Builder
	for _, s := range t {
		text := ui.MarkdownText(s.Text)
		if s.Bold {
			text = "**" + text + "**"
		}
		b.WriteString(text)
	}
	return b.String()
}

func (t Table) markdown(b *strings.Builder) {
	for _, c := range t.Columns {
		fmt.Fprintf(b, "| %s ", ui.MarkdownText(c.title()))
	}
	b.WriteString("|\n")
	for _, c := range t.Columns {
		b.WriteString(map[bool]string{true: "| ---: ", false: "| --- "}[c.Number])
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		for _, cell := range row {
			fmt.Fprintf(b, "| %s ", cell.markdown())
		}
		b.WriteString("|\n")
	}
}
