// Package webpage has what the HTML pages of all commands have in common: one file each that
// needs no other, with tables that scroll by themselves. Pages are written as Go code and not
// as templates of the standard library, because those call methods by their names: with them
// the linker must keep every exported method of every type, a quarter of the program.
package webpage

import (
	"io"

	g "maragu.dev/gomponents"
	"maragu.dev/gomponents/html"
)

// Head is what a page says about itself.
type Head struct {
	Title string
	// Policy is the content security policy; empty: the page has none.
	Policy string
	// Schemes are the color schemes that the page supports, as browsers name them; empty: the
	// style says it.
	Schemes string
	Style   string
}

// Write writes a page with the children of its body.
func Write(w io.Writer, head Head, body ...g.Node) error {
	page := g.Group{
		g.Raw("<!DOCTYPE html>\n"),
		html.HTML(html.Lang("en"), Lines(
			g.El("head", Lines(
				html.Meta(html.Charset("utf-8")),
				g.If(head.Policy != "", html.Meta(g.Attr("http-equiv", "Content-Security-Policy"), html.Content(head.Policy))),
				html.Meta(html.Name("viewport"), html.Content("width=device-width, initial-scale=1")),
				g.If(head.Schemes != "", html.Meta(html.Name("color-scheme"), html.Content(head.Schemes))),
				html.TitleEl(g.Text(head.Title)),
				html.StyleEl(g.Raw("\n"+head.Style)),
			)),
			html.Body(Lines(body...)),
		)),
		g.Raw("\n"),
	}
	return page.Render(w)
}

// Lines puts each node that is not nil on a line of its own.
func Lines(nodes ...g.Node) g.Node {
	var all g.Group
	for _, n := range nodes {
		if n != nil {
			all = append(all, g.Raw("\n"), n)
		}
	}
	return append(all, g.Raw("\n"))
}

// Scroll is a part of the page that scrolls by itself, with keys too. The label tells those who do
// not see it what it is.
func Scroll(class, label string, children ...g.Node) g.Node {
	return html.Div(html.Class(class), html.TabIndex("0"), html.Role("region"), html.Aria("label", label), Lines(children...))
}

// Table is a table with the heads of its columns, and what comes before them, such as a caption.
func Table(heads g.Node, rows []g.Node, before ...g.Node) g.Node {
	return html.Table(Lines(append(before, html.THead(Lines(html.Tr(heads))), html.TBody(Lines(rows...)))...))
}

// Heads are the column heads of a table.
func Heads(titles ...string) g.Node {
	return g.Map(titles, func(s string) g.Node { return ColumnHead(g.Text(s)) })
}

// ColumnHead is the head of a column.
func ColumnHead(children ...g.Node) g.Node {
	return html.Th(append([]g.Node{html.Scope("col")}, children...)...)
}

// RowHead is the head of a row.
func RowHead(children ...g.Node) g.Node {
	return html.Th(append([]g.Node{html.Scope("row")}, children...)...)
}

// Cells are the cells of a row.
func Cells(texts ...string) g.Node {
	return g.Map(texts, func(s string) g.Node { return html.Td(g.Text(s)) })
}
