package page

import (
	_ "embed"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"
)

// chartStyle has the colors of SVG drawings as CSS, for light and for dark ground. Pages that include
// drawings of inlineSVG include it once.
//
//go:embed style.css
var chartStyle string

// svg is a canvas that writes SVG elements.
type svg struct{ strings.Builder }

// WriteSVG writes a chart as a file of its own.
func WriteSVG(w io.Writer, c Chart) error {
	_, err := io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+drawSVG(c, "<style>"+chartStyle+"</style>\n", "plot")+"\n")
	return err
}

// readable is the smallest scale at which the texts of an inline chart can be read.
const readable = 0.75

// inlineSVG returns a chart as an element of an HTML page that has chartStyle. The ID must be the only one
// of its name in the page.
func inlineSVG(c Chart, id string) string {
	width, _ := c.size()
	return strings.Replace(drawSVG(c, "", id), "<svg ", fmt.Sprintf(`<svg style="min-width:%spx" `, short(readable*width)), 1)
}

func drawSVG(c Chart, style, id string) string {
	width, height := c.size()
	var s svg
	id = html.EscapeString(id)
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 %s %s" role="img" aria-labelledby="%s-title %s-desc">`+"\n",
		short(width), short(height), id, id)
	fmt.Fprintf(&s, `<title id="%s-title">%s</title>`+"\n"+`<desc id="%s-desc">%s</desc>`+"\n", id, html.EscapeString(c.name()), id, html.EscapeString(c.description()))
	s.WriteString(style)
	fmt.Fprintf(&s, `<rect class="fill-ground" width="%s" height="%s"/>`+"\n", short(width), short(height))
	c.draw(&s)
	s.WriteString("</svg>")
	return s.String()
}

// short writes a coordinate with at most two digits after the point.
func short(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

func pairs(points []point) string {
	all := make([]string, len(points))
	for i, p := range points {
		all[i] = short(p.x) + "," + short(p.y)
	}
	return strings.Join(all, " ")
}

func (s *svg) line(points []point, c color, width float64, dashed bool) {
	dash := ""
	if dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	fmt.Fprintf(s, `<polyline class="line-%s" stroke-width="%s"%s points="%s"/>`+"\n", c.name(), short(width), dash, pairs(points))
}

func (s *svg) area(points []point, c color, note string) {
	if note == "" {
		fmt.Fprintf(s, `<polygon class="fill-%s" points="%s"/>`+"\n", c.name(), pairs(points))
		return
	}
	fmt.Fprintf(s, `<polygon class="fill-%s" points="%s"><title>%s</title></polygon>`+"\n", c.name(), pairs(points), html.EscapeString(note))
}

func (s *svg) text(at point, text string, o textOptions) {
	class := "fill-ink"
	if o.soft {
		class = "fill-soft"
	}
	more := ""
	if o.anchor != atStart {
		more += ` text-anchor="` + [...]string{"", "middle", "end"}[o.anchor] + `"`
	}
	if o.bold {
		more += ` font-weight="bold"`
	}
	if o.turned {
		more += fmt.Sprintf(` transform="rotate(-90 %s %s)"`, short(at.x), short(at.y))
	}
	fmt.Fprintf(s, `<text class="%s" x="%s" y="%s" font-size="%s"%s>%s</text>`+"\n", class, short(at.x), short(at.y), short(o.size), more, html.EscapeString(text))
}
