package ui

import (
	"io"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// PageHead is what an HTML page says about itself. The pages of all commands are one file each that needs no other, with
// tables that scroll by themselves. They are written as Go code and not as templates of the standard library, because
// those call methods by their names: with them the linker must keep every exported method of every type, a quarter of
// the program.
type PageHead struct {
	Title string
	// Policy is the content security policy; empty: the page has none.
	Policy string
	// Schemes are the color schemes that the page supports, as browsers name them; empty: the
	// style says it.
	Schemes string
	Style   string
}

// WritePage writes a page with the children of its body.
func WritePage(w io.Writer, head PageHead, body ...g.Node) error {
	page := g.Group{
		g.Raw("<!DOCTYPE html>\n"),
		html.HTML(html.Lang("en"), PageLines(
			g.El("head", PageLines(
				html.Meta(html.Charset("utf-8")),
				g.If(head.Policy != "", html.Meta(g.Attr("http-equiv", "Content-Security-Policy"), html.Content(head.Policy))),
				html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
				g.If(head.Schemes != "", html.Meta(html.Name("color-scheme"), html.Content(head.Schemes))),
				html.TitleEl(g.Text(head.Title)),
				html.StyleEl(g.Raw("\n"+head.Style)),
			)),
			html.Body(PageLines(body...)),
		)),
		g.Raw("\n"),
	}
	return page.Render(w)
}

// PageLines puts each node that is not nil on a line of its own.
func PageLines(nodes ...g.Node) g.Node {
	var all g.Group
	for _, n := range nodes {
		if n != nil {
			all = append(all, g.Raw("\n"), n)
		}
	}
	return append(all, g.Raw("\n"))
}

// PageScroll is a part of the page that scrolls by itself, with keys too. The label tells those who do
// not see it what it is.
func PageScroll(class, label string, children ...g.Node) g.Node {
	return html.Div(html.Class(class), html.TabIndex("0"), html.Role("region"), html.Aria("label", label), PageLines(children...))
}

// PageTable is a table with the heads of its columns, and what comes before them, such as a caption.
func PageTable(heads g.Node, rows []g.Node, before ...g.Node) g.Node {
	return html.Table(PageLines(append(before, html.THead(PageLines(html.Tr(heads))), html.TBody(PageLines(rows...)))...))
}

// PageHeads are the column heads of a table.
func PageHeads(titles ...string) g.Node {
	return g.Map(titles, func(s string) g.Node { return PageColumnHead(g.Text(s)) })
}

// PageColumnHead is the head of a column.
func PageColumnHead(children ...g.Node) g.Node {
	return html.Th(append([]g.Node{html.Scope("col")}, children...)...)
}

// PageRowHead is the head of a row.
func PageRowHead(children ...g.Node) g.Node {
	return html.Th(append([]g.Node{html.Scope("row")}, children...)...)
}

// PageCells are the cells of a row.
func PageCells(texts ...string) g.Node {
	return g.Map(texts, func(s string) g.Node { return html.Td(g.Text(s)) })
}
