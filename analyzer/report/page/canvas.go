package page

import "fmt"

// Options of a drawing are few, so that it looks the same in all formats: a chart is drawn once,
// onto a canvas, and each format is a canvas.
type canvas interface {
	// line draws a polyline.
	line(points []point, c color, width float64, dashed bool)
	// area fills a polygon. The note is shown when a pointer rests on it; empty for none.
	area(points []point, c color, note string)
	// text writes one line. The point is on the baseline.
	text(at point, s string, o textOptions)
}

// point is in the units of a drawing, which are those of CSS pixels; the origin is the upper left
// corner.
type point struct{ x, y float64 }

type anchor uint8

const (
	atStart anchor = iota
	atMiddle
	atEnd
)

type textOptions struct {
	size   float64
	anchor anchor
	bold   bool
	soft   bool // in a less prominent color
	turned bool // upwards
}

// color is what a color is for. HTML pages choose the shades by their style, so that charts are
// readable on light and on dark ground; images and PDF have those for light ground.
type color uint8

const (
	ink     color = iota
	soft          // secondary text
	grid          // lines of the grid
	ground        // background
	series0       // the first of numSeries lines
)

const (
	numSeries = 8
	part0     = series0 + numSeries // the first of the four parts of a stacked bar
	numColors = part0 + 4
)

// rgb has the shades for light ground, as in style.css. Those of the parts are the Okabe-Ito colors.
var rgb = [numColors]uint32{
	0x1b1b1f, 0x55565e, 0xd4d5dc, 0xffffff,
	0x0b57d0, 0xb3400a, 0x11734b, 0x8a2a9b, 0x8a6100, 0xa3123a, 0x0a6b7c, 0x555555,
	0xe69f00, 0x56b4e9, 0x009e73, 0xf0e442,
}

// name is the name of the color in style.css.
func (c color) name() string {
	switch {
	case c >= part0:
		return fmt.Sprintf("part%d", c-part0)
	case c >= series0:
		return fmt.Sprintf("series%d", c-series0)
	}
	return [...]string{"ink", "soft", "grid", "ground"}[c]
}

func (c color) rgb() (r, g, b uint8) {
	v := rgb[c]
	return uint8(v >> 16), uint8(v >> 8), uint8(v)
}

// seriesColor returns the color of a line; they repeat.
func seriesColor(i int) color { return series0 + color(i%numSeries) }
