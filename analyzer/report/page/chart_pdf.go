package page

import "codeberg.org/go-pdf/fpdf"

// fontFamily is the name of the font of PDF files.
const fontFamily = "go"

// addFonts adds the font of charts to a PDF file, upright and bold.
func addFonts(f *fpdf.Fpdf) {
	f.AddUTF8FontFromBytes(fontFamily, "", regularTTF())
	f.AddUTF8FontFromBytes(fontFamily, "B", boldTTF())
}

// document is a canvas on a page of a PDF file whose unit is the point.
type document struct {
	f           *fpdf.Fpdf
	x, y, scale float64
}

// drawPDF draws a chart on the current page, with its upper left corner at x and y, and returns its
// height. The unit of the file must be the point; addFonts has been called.
func drawPDF(f *fpdf.Fpdf, c Chart, x, y, width float64) float64 {
	w, h := c.size()
	d := document{f, x, y, width / w}
	c.draw(d)
	f.SetDashPattern(nil, 0)
	f.SetTextColor(0, 0, 0)
	return h * d.scale
}

// pdfHeight returns the height of a chart that is drawn in a width.
func pdfHeight(c Chart, width float64) float64 {
	w, h := c.size()
	return h * width / w
}

func (d document) at(p point) (x, y float64) { return d.x + p.x*d.scale, d.y + p.y*d.scale }

func (d document) line(points []point, c color, width float64, dashed bool) {
	r, g, b := c.rgb()
	d.f.SetDrawColor(int(r), int(g), int(b))
	d.f.SetLineWidth(width * d.scale)
	d.f.SetDashPattern(nil, 0)
	if dashed {
		d.f.SetDashPattern([]float64{6 * d.scale, 4 * d.scale}, 0)
	}
	d.f.SetLineJoinStyle("round")
	for i, p := range points {
		x, y := d.at(p)
		if i == 0 {
			d.f.MoveTo(x, y)
		} else {
			d.f.LineTo(x, y)
		}
	}
	d.f.DrawPath("D")
}

func (d document) area(points []point, c color, _ string) {
	r, g, b := c.rgb()
	d.f.SetFillColor(int(r), int(g), int(b))
	all := make([]fpdf.PointType, len(points))
	for i, p := range points {
		all[i].X, all[i].Y = d.at(p)
	}
	d.f.Polygon(all, "F")
}

func (d document) text(at point, s string, o textOptions) {
	style := ""
	if o.bold {
		style = "B"
	}
	c := ink
	if o.soft {
		c = soft
	}
	r, g, b := c.rgb()
	d.f.SetTextColor(int(r), int(g), int(b))
	d.f.SetFont(fontFamily, style, o.size*d.scale)
	s = printable(s)
	shift := 0.0
	switch o.anchor {
	case atMiddle:
		shift = -d.f.GetStringWidth(s) / 2
	case atEnd:
		shift = -d.f.GetStringWidth(s)
	}
	x, y := d.at(at)
	if !o.turned {
		d.f.Text(x+shift, y, s)
		return
	}
	d.f.TransformBegin()
	d.f.TransformRotate(90, x, y)
	d.f.Text(x+shift, y, s)
	d.f.TransformEnd()
}
