package page

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"triton/analyzer/report/plot"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"isHeading":   func(b Block) bool { _, ok := b.(Heading); return ok },
	"isParagraph": func(b Block) bool { _, ok := b.(Paragraph); return ok },
	"isChartText": func(b Block) bool { _, ok := b.(ChartText); return ok },
	"isList":      func(b Block) bool { _, ok := b.(List); return ok },
	"isCharts":    func(b Block) bool { _, ok := b.(Charts); return ok },
	"isTable":     func(b Block) bool { _, ok := b.(Table); return ok },
	"text":        func(p Paragraph) Text { return Text(p) },
	// The drawing escapes the names in it.
	"svg": func(f Figure, block, i int) template.HTML {
		return template.HTML(plot.Inline(f.Chart, fmt.Sprintf("plot-%d-%d", block, i)))
	},
	"number": func(t Table, i int) bool { return t.Columns[i].Number },
}).Parse(pageText))

// WriteHTML writes a page that needs no other file: its policy allows none, and no scripts.
func (p *Page) WriteHTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Page
		Style template.CSS
	}{p, template.CSS(pageStyle + plot.Style)})
}
