package page

import (
	_ "embed"
	"fmt"
	"io"
	"strings"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"

	"triton/pkg/ui"
)

//go:embed page.css
var pageStyle string

// WriteHTML writes a page that needs no other file: its policy allows none, and no scripts.
func (p *Page) WriteHTML(w io.Writer) error {
	head := ui.PageHead{
		Title: p.Title, Policy: "default-src 'none'; style-src 'unsafe-inline'", Schemes: "light dark", Style: pageStyle + chartStyle,
	}
	if p.Subtitle != "" {
		head.Title += ": " + p.Subtitle
	}
	var blocks []g.Node
	for i, b := range p.Blocks {
		blocks = append(blocks, blockHTML(b, i))
	}
	return ui.WritePage(w, head,
		html.Header(ui.PageLines(
			html.H1(g.Text(p.Title)),
			g.If(p.Subtitle != "", html.P(html.Class("subtitle"), g.Text(p.Subtitle))),
			g.If(p.Program != "", html.P(html.Class("program"), g.Text("Written by "+p.Program+"."))),
		)),
		html.Main(ui.PageLines(blocks...)))
}

// blockHTML returns the i-th block of a page.
func blockHTML(b Block, i int) g.Node {
	switch b := b.(type) {
	case Heading:
		return html.H2(g.Text(string(b)))
	case Paragraph:
		return html.P(textHTML(Text(b)))
	case ChartText:
		return html.P(g.Text(string(b)))
	case Code:
		return ui.PageScroll("scroll", "configuration", html.Pre(g.Text(strings.Join(b, "\n"))))
	case List:
		return html.Ul(ui.PageLines(g.Map(b, func(t Text) g.Node { return html.Li(textHTML(t)) })...))
	case Charts:
		return chartsHTML(b, i)
	case Table:
		return tableHTML(b)
	}
	return nil
}

func textHTML(t Text) g.Node {
	return g.Map(t, func(s Span) g.Node {
		if s.Bold {
			return html.Strong(g.Text(s.Text))
		}
		return g.Text(s.Text)
	})
}

func chartsHTML(charts Charts, block int) g.Node {
	class := "charts"
	if len(charts) > 1 {
		class = "charts two"
	}
	var figures []g.Node
	for i, f := range charts {
		figures = append(figures, html.Figure(ui.PageLines(
			// The drawing escapes the names in it.
			ui.PageScroll("scroll", f.Caption, g.Raw(inlineSVG(f.Chart, fmt.Sprintf("plot-%d-%d", block, i)))),
			html.FigCaption(g.Text(f.Caption)),
		)))
	}
	return html.Div(html.Class(class), ui.PageLines(figures...))
}

func tableHTML(t Table) g.Node {
	number := func(column int) g.Node { return g.If(t.Columns[column].Number, html.Class("number")) }
	var heads g.Group
	var rows []g.Node
	for i, c := range t.Columns {
		heads = append(heads, ui.PageColumnHead(number(i), g.Text(c.Title),
			g.If(c.Own, html.Abbr(html.Title("not in reports of Model Analyzer"), g.Text("*")))))
	}
	for _, row := range t.Rows {
		var cells []g.Node
		for i, cell := range row {
			if i == 0 {
				cells = append(cells, ui.PageRowHead(textHTML(cell)))
			} else {
				cells = append(cells, html.Td(number(i), textHTML(cell)))
			}
		}
		rows = append(rows, html.Tr(cells...))
	}
	caption := html.Caption(html.Span(g.Text(t.Caption)))
	return ui.PageScroll("scroll", t.Caption, ui.PageTable(heads, rows, caption))
}
