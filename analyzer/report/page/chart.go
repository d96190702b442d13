// The charts of analysis reports, drawn as SVG, as images and on pages of PDF files.

package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Chart is a drawing: Lines or Bars.
type Chart interface {
	size() (width, height float64)
	draw(c canvas)
	name() string
	description() string // for those who do not see the drawing
}

var (
	_ Chart = (*Lines)(nil)
	_ Chart = (*Bars)(nil)
)

// maxName is the length of a name in a legend, in characters.
const maxName = 35

// shortName cuts a name of a variant to what a legend has room for, as Model Analyzer does:
// the end, from "config_" on, stays.
func shortName(name string) string {
	runes := []rune(name)
	if len(runes) <= maxName {
		return name
	}
	end := ""
	if i := strings.LastIndex(name, "config_"); i >= 0 {
		end = name[i:]
	}
	keep := maxName - 3 - len([]rune(end))
	if keep < 1 {
		return string(runes[:maxName-3]) + "..."
	}
	return string(runes[:keep]) + "..." + end
}

// axis maps values to coordinates, linearly.
type axis struct {
	low, high float64 // of the values
	from, to  float64 // of the coordinates
	ticks     []float64
}

// newAxis returns an axis whose limits are ticks, so that the values fit in. It begins with 0
// unless the values are close together.
func newAxis(low, high, from, to float64, count int) axis {
	if low > high {
		low, high = 0, 1
	}
	if low >= 0 && low <= high/2 {
		low = 0
	}
	if low == high {
		low, high = low-math.Abs(low)/10, high+math.Abs(high)/10
		if low == high {
			high = low + 1
		}
	}
	step := tickStep((high - low) / float64(count))
	first, last := math.Floor(low/step+1e-9), math.Ceil(high/step-1e-9)
	a := axis{low: first * step, high: last * step, from: from, to: to}
	for k := first; k <= last; k++ {
		a.ticks = append(a.ticks, k*step)
	}
	return a
}

// tickStep returns the smallest of 1, 2, 2.5 or 5 times a power of ten that is not below v.
func tickStep(v float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 2.5, 5} {
		if v <= f*power*(1+1e-9) {
			return f * power
		}
	}
	return 10 * power
}

func (a axis) at(v float64) float64 {
	return a.from + (v-a.low)/(a.high-a.low)*(a.to-a.from)
}

func (a axis) has(v float64) bool { return v >= a.low && v <= a.high }

// label formats a tick with as many decimals as the distance of the ticks has.
func (a axis) label(v float64) string {
	step := (a.high - a.low) / float64(max(1, len(a.ticks)-1))
	decimals := 0
	for s := step; decimals < 9 && math.Abs(s-math.Round(s)) > 1e-6*s; decimals++ {
		s *= 10
	}
	return strconv.FormatFloat(v+0, 'f', decimals, 64)
}

// Number formats a value of a chart with four significant digits, and all of its whole part.
func Number(v float64) string {
	switch a := math.Abs(v); {
	case v == 0:
		return "0"
	case a >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return fmt.Sprintf("%.4g", v)
}

// Sizes of a drawing.
const (
	titleSize = 16
	labelSize = 13
	tickSize  = 12
	rowHeight = 20 // of the legend
)

// frame is the area of the data with the axes around it.
type frame struct {
	left, top, right, bottom float64
}

func title(c canvas, width float64, text string) {
	c.text(point{width / 2, 26}, text, textOptions{size: titleSize, anchor: atMiddle, bold: true})
}

func rect(x, y, w, h float64) []point {
	return []point{{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}
}

// entry is one name of a legend with a function that draws its sample into 28 x 12 units.
type entry struct {
	name   string
	sample func(c canvas, x, y float64)
}

// legendRows breaks a legend into rows that fit into a width.
func legendRows(entries []entry, width float64) [][]entry {
	var rows [][]entry
	used := math.Inf(1)
	for _, e := range entries {
		w := entryWidth(e)
		if used+w > width {
			rows, used = append(rows, nil), 0
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], e)
		used += w
	}
	return rows
}

// entryWidth leaves room for the fonts of browsers, of which many are broader than ours.
func entryWidth(e entry) float64 { return 34 + 1.2*textWidth(e.name, tickSize, false) + 18 }

// legend draws rows of names, each in the middle.
func legend(c canvas, rows [][]entry, center, top float64) {
	for i, row := range rows {
		total := 0.0
		for _, e := range row {
			total += entryWidth(e)
		}
		x, y := center-(total-18)/2, top+float64(i)*rowHeight
		for _, e := range row {
			e.sample(c, x, y)
			c.text(point{x + 34, y + 4}, e.name, textOptions{size: tickSize})
			x += entryWidth(e)
		}
	}
}

// disc returns the outline of a circle.
func disc(at point, r float64) []point {
	const n = 16
	all := make([]point, n)
	for i := range all {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		all[i] = point{at.x + r*cos, at.y + r*sin}
	}
	return all
}

// marker returns the outline of the marker of a series. Series differ in shape too, for those who
// cannot tell the colors apart.
func marker(series int, at point) []point {
	const r = 5
	switch series % 4 {
	case 1:
		return rect(at.x-r+1, at.y-r+1, 2*r-2, 2*r-2)
	case 2:
		return []point{{at.x, at.y - r - 1}, {at.x + r + 1, at.y}, {at.x, at.y + r + 1}, {at.x - r - 1, at.y}}
	case 3:
		return []point{{at.x, at.y - r}, {at.x + r, at.y + r}, {at.x - r, at.y + r}}
	}
	return disc(at, r-0.5)
}
