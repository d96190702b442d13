package page

import (
	"fmt"
	"strconv"
	"strings"
)

// Bars is a chart of stacked bars with a line on an axis of its own.
type Bars struct {
	Title    string
	X        string   // what the labels of the bars are
	Y        string   // of the bars
	Y2       string   // of the line
	Parts    []string // names of at most four parts, from below
	LineName string
	Bars     []Bar
}

// Bar is one bar with the point of the line above it.
type Bar struct {
	Label string
	Parts []float64
	Line  float64
}

// Three to two, as 12 x 8 inches.
const barsWidth, barsHeight = 900, 600

func (b *Bars) name() string                  { return b.Title }
func (b *Bars) size() (width, height float64) { return barsWidth, barsHeight }

func (b *Bars) description() string {
	var all []string
	for _, bar := range b.Bars {
		var parts []string
		for i, v := range bar.Parts {
			parts = append(parts, fmt.Sprintf("%s %s", b.Parts[i], Number(v)))
		}
		all = append(all, fmt.Sprintf("%s: %s, %s %s", bar.Label, strings.Join(parts, ", "), b.LineName, Number(bar.Line)))
	}
	return fmt.Sprintf("%s and %s by %s. %s.", b.Y, b.Y2, b.X, strings.Join(all, "; "))
}

func (b *Bars) axes(f frame) (left, right axis) {
	highest, fastest := 0.0, 0.0
	for _, bar := range b.Bars {
		sum := 0.0
		for _, v := range bar.Parts {
			sum += v
		}
		highest, fastest = max(highest, sum), max(fastest, bar.Line)
	}
	// The annotations of the line need room.
	return newAxis(0, highest, f.bottom, f.top, 7), newAxis(0, fastest*1.08, f.bottom, f.top, 7)
}

func (b *Bars) draw(c canvas) {
	f := frame{left: 76, top: 96, right: barsWidth - 84, bottom: barsHeight - 60}
	left, right := b.axes(f)
	title(c, barsWidth, b.Title)
	for _, v := range left.ticks {
		c.line([]point{{f.left, left.at(v)}, {f.right, left.at(v)}}, grid, 1, false)
		c.text(point{f.left - 8, left.at(v) + 4}, left.label(v), textOptions{size: tickSize, anchor: atEnd, soft: true})
	}
	for _, v := range right.ticks {
		c.text(point{f.right + 8, right.at(v) + 4}, right.label(v), textOptions{size: tickSize, soft: true})
	}
	c.line([]point{{f.left, f.top}, {f.left, f.bottom}, {f.right, f.bottom}, {f.right, f.top}}, soft, 1, false)
	c.text(point{(f.left + f.right) / 2, f.bottom + 42}, b.X, textOptions{size: labelSize, anchor: atMiddle})
	c.text(point{20, (f.top + f.bottom) / 2}, b.Y, textOptions{size: labelSize, anchor: atMiddle, turned: true})
	c.text(point{barsWidth - 12, (f.top + f.bottom) / 2}, b.Y2, textOptions{size: labelSize, anchor: atMiddle, turned: true})
	b.drawBars(c, f, left)
	b.drawLine(c, f, right)
	legend(c, legendRows(b.entries(), f.right-f.left), (f.left+f.right)/2, 52)
}

// center returns the middle of a bar.
func (b *Bars) center(f frame, i int) float64 {
	return f.left + (f.right-f.left)*(float64(i)+0.5)/float64(max(1, len(b.Bars)))
}

func (b *Bars) drawBars(c canvas, f frame, y axis) {
	width := (f.right - f.left) / float64(max(1, len(b.Bars))) * 0.5
	every := labelEvery(b.Bars, (f.right-f.left)/float64(max(1, len(b.Bars))))
	for i, bar := range b.Bars {
		x, base := b.center(f, i)-width/2, 0.0
		for k, v := range bar.Parts {
			top := y.at(base + v)
			c.area(rect(x, top, width, y.at(base)-top), part0+color(k), fmt.Sprintf("%s: %s %s", bar.Label, b.Parts[k], Number(v)))
			base += v
		}
		if i%every == 0 {
			c.text(point{b.center(f, i), f.bottom + 18}, bar.Label, textOptions{size: tickSize, anchor: atMiddle, soft: true})
		}
	}
}

// labelEvery returns of how many bars one has room for its label.
func labelEvery(bars []Bar, room float64) int {
	widest := 0.0
	for _, b := range bars {
		widest = max(widest, textWidth(b.Label, tickSize, false)+6)
	}
	return max(1, int(widest/room+0.999))
}

func (b *Bars) drawLine(c canvas, f frame, y axis) {
	at := make([]point, len(b.Bars))
	var values []Bar
	for i, bar := range b.Bars {
		at[i] = point{b.center(f, i), y.at(bar.Line)}
		values = append(values, Bar{Label: strconv.FormatFloat(bar.Line, 'f', 2, 64)})
	}
	if len(at) > 1 {
		c.line(at, ink, 2, false)
	}
	every := labelEvery(values, (f.right-f.left)/float64(max(1, len(b.Bars))))
	for i, p := range at {
		c.area(disc(p, 4.5), ink, fmt.Sprintf("%s: %s %s", b.Bars[i].Label, b.LineName, values[i].Label))
		if i%every == 0 {
			half := textWidth(values[i].Label, tickSize, false)/2 + 2
			c.area(rect(p.x-half, p.y-21, 2*half, 14), ground, "") // readable on bars
			c.text(point{p.x, p.y - 10}, values[i].Label, textOptions{size: tickSize, anchor: atMiddle})
		}
	}
}

func (b *Bars) entries() []entry {
	var all []entry
	for i, name := range b.Parts {
		all = append(all, entry{name, func(c canvas, x, y float64) { c.area(rect(x, y-6, 28, 12), part0+color(i), "") }})
	}
	return append(all, entry{b.LineName, func(c canvas, x, y float64) {
		c.line([]point{{x, y}, {x + 28, y}}, ink, 2, false)
		c.area(disc(point{x + 14, y}, 4.5), ink, "")
	}})
}
