package page

import (
	"image"
	imagecolor "image/color"
	"image/png"
	"io"
	"math"

	"golang.org/x/image/vector"
)

// pixels is a canvas that paints an image.
type pixels struct {
	image *image.RGBA
	scale float64
	path  []step
}

// step is one piece of a path, in pixels: a move or a line to p, or a curve with one or two control
// points.
type step struct {
	kind    stepKind
	c, d, p point
}

type stepKind uint8

const (
	moveTo stepKind = iota
	lineTo
	quadTo
	cubeTo
)

// WritePNG writes a chart as an image on light ground. A unit of the drawing becomes scale pixels.
func WritePNG(w io.Writer, c Chart, scale float64) error {
	width, height := c.size()
	p := &pixels{image.NewRGBA(image.Rect(0, 0, int(math.Ceil(width*scale)), int(math.Ceil(height*scale)))), scale, nil}
	for i := range p.image.Pix {
		p.image.Pix[i] = 0xff
	}
	c.draw(p)
	return png.Encode(w, p.image)
}

func (p *pixels) add(kind stepKind, c, d, q point) {
	k := p.scale
	p.path = append(p.path, step{kind, point{c.x * k, c.y * k}, point{d.x * k, d.y * k}, point{q.x * k, q.y * k}})
}

func (p *pixels) move(q point) { p.add(moveTo, q, q, q) }
func (p *pixels) to(q point)   { p.add(lineTo, q, q, q) }

// fill paints the path in a color and begins a new one. Only the pixels around the path are looked
// at.
func (p *pixels) fill(c color) {
	defer func() { p.path = p.path[:0] }()
	low, high := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, s := range p.path {
		for _, q := range []point{s.c, s.d, s.p} {
			low, high = point{min(low.x, q.x), min(low.y, q.y)}, point{max(high.x, q.x), max(high.y, q.y)}
		}
	}
	if !(low.x <= high.x && low.y <= high.y) {
		return
	}
	box := image.Rect(int(math.Floor(low.x)), int(math.Floor(low.y)), int(math.Ceil(high.x))+1, int(math.Ceil(high.y))+1).Intersect(p.image.Bounds())
	if box.Empty() {
		return
	}
	path := vector.NewRasterizer(box.Dx(), box.Dy())
	at := func(q point) (x, y float32) {
		return float32(q.x - float64(box.Min.X)), float32(q.y - float64(box.Min.Y))
	}
	for _, s := range p.path {
		x, y := at(s.p)
		cx, cy := at(s.c)
		dx, dy := at(s.d)
		switch s.kind {
		case moveTo:
			path.ClosePath()
			path.MoveTo(x, y)
		case lineTo:
			path.LineTo(x, y)
		case quadTo:
			path.QuadTo(cx, cy, x, y)
		case cubeTo:
			path.CubeTo(cx, cy, dx, dy, x, y)
		}
	}
	path.ClosePath()
	r, g, b := c.rgb()
	path.Draw(p.image, box, image.NewUniform(imagecolor.RGBA{r, g, b, 0xff}), image.Point{})
}

func (p *pixels) polygon(points []point, c color) {
	if len(points) == 0 {
		return
	}
	p.move(points[0])
	for _, q := range points[1:] {
		p.to(q)
	}
	p.fill(c)
}

func (p *pixels) area(points []point, c color, _ string) { p.polygon(points, c) }

func (p *pixels) line(points []point, c color, width float64, dashed bool) {
	for i := 1; i < len(points); i++ {
		for _, s := range dashes(points[i-1], points[i], dashed) {
			p.polygon(stroke(s[0], s[1], width), c)
		}
		if i+1 < len(points) {
			p.polygon(disc(points[i], width/2), c) // the joint
		}
	}
}

// stroke returns the outline of a line.
func stroke(a, b point, width float64) []point {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if length == 0 {
		return nil
	}
	dx, dy := -(b.y-a.y)/length*width/2, (b.x-a.x)/length*width/2
	return []point{{a.x + dx, a.y + dy}, {b.x + dx, b.y + dy}, {b.x - dx, b.y - dy}, {a.x - dx, a.y - dy}}
}

// dashes cuts a line into dashes of 6 units with gaps of 4.
func dashes(a, b point, dashed bool) [][2]point {
	length := math.Hypot(b.x-a.x, b.y-a.y)
	if !dashed || length == 0 {
		return [][2]point{{a, b}}
	}
	at := func(d float64) point {
		d = min(d, length) / length
		return point{a.x + (b.x-a.x)*d, a.y + (b.y-a.y)*d}
	}
	var all [][2]point
	for d := 0.0; d < length; d += 10 {
		all = append(all, [2]point{at(d), at(d + 6)})
	}
	return all
}

func (p *pixels) text(at point, s string, o textOptions) {
	scale := o.size / unit
	x := 0.0
	switch o.anchor {
	case atMiddle:
		x = -textWidth(s, o.size, o.bold) / 2
	case atEnd:
		x = -textWidth(s, o.size, o.bold)
	}
	for _, r := range s {
		place := func(q point) point {
			dx, dy := x+q.x*scale, q.y*scale
			if o.turned {
				dx, dy = dy, -dx
			}
			return point{at.x + dx, at.y + dy}
		}
		advance := face(o.bold).glyph(r,
			func(q point) { p.move(place(q)) },
			func(q point) { p.to(place(q)) },
			func(c, q point) { p.add(quadTo, place(c), place(c), place(q)) },
			func(c, d, q point) { p.add(cubeTo, place(c), place(d), place(q)) },
		)
		x += advance * scale
	}
	c := ink
	if o.soft {
		c = soft
	}
	p.fill(c)
}
