package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
)

// Lines is a chart of two metrics: one line with markers for each series.
type Lines struct {
	Title   string
	X, Y    string // names of the axes with their units
	Series  []Series
	Targets []Target
	// Count is set if X counts something: then its axis has no fractions.
	Count bool
}

// Series is one line.
type Series struct {
	Name   string
	Points []Point
}

// Point is one measurement. Low and High are the limits of its confidence interval along the Y
// axis; they are equal if it is not known.
type Point struct {
	X, Y      float64
	Low, High float64
	Note      string // shown when a pointer rests on the point; empty: the values
}

// Target is a limit that the user gave: a dashed line.
type Target struct {
	Name     string
	Value    float64
	Vertical bool // on the X axis
}

// Sorted returns points in the order of X.
func Sorted(points []Point) []Point {
	points = slices.Clone(points)
	sort.SliceStable(points, func(i, j int) bool {
		return cmp.Or(cmp.Compare(points[i].X, points[j].X), cmp.Compare(points[i].Y, points[j].Y)) < 0
	})
	return points
}

// Monotonic returns points in the order of X, without those that have no larger Y than one before.
func Monotonic(points []Point) []Point {
	var kept []Point
	for _, p := range Sorted(points) {
		if len(kept) == 0 || p.Y > kept[len(kept)-1].Y {
			kept = append(kept, p)
		}
	}
	return kept
}

const linesWidth = 640

func (l *Lines) name() string { return l.Title }

func (l *Lines) description() string {
	var all []string
	for _, s := range l.Series {
		var points []string
		for _, p := range s.Points {
			points = append(points, fmt.Sprintf("%s at %s", Number(p.Y), Number(p.X)))
		}
		all = append(all, s.Name+": "+strings.Join(points, ", "))
	}
	for _, t := range l.Targets {
		all = append(all, fmt.Sprintf("%s: %s", t.Name, Number(t.Value)))
	}
	return fmt.Sprintf("%s by %s. %s.", l.Y, l.X, strings.Join(all, "; "))
}

func (l *Lines) size() (width, height float64) {
	return linesWidth, 430 + rowHeight*float64(len(legendRows(l.entries(nil), linesWidth-20)))
}

// axes returns the axes in the frame. Targets widen them, but not beyond what leaves the
// measurements readable.
func (l *Lines) axes(f frame) (x, y axis) {
	lowX, highX, lowY, highY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		for _, p := range s.Points {
			lowX, highX = min(lowX, p.X), max(highX, p.X)
			lowY, highY = min(lowY, p.Y), max(highY, p.Y)
			if p.Low < p.High {
				lowY, highY = min(lowY, p.Low), max(highY, p.High)
			}
		}
	}
	for _, t := range l.Targets {
		if t.Vertical {
			lowX, highX = widened(lowX, highX, t.Value)
		} else {
			lowY, highY = widened(lowY, highY, t.Value)
		}
	}
	x = newAxis(lowX, highX, f.left, f.right, 7)
	if l.Count && len(x.ticks) > 1 && x.ticks[1]-x.ticks[0] < 1 {
		x = newAxis(math.Floor(lowX), max(math.Ceil(highX), math.Floor(lowX)+1), f.left, f.right, max(1, int(math.Ceil(highX-lowX))))
		if x.ticks[1]-x.ticks[0] < 1 {
			x = newAxis(0, max(1, math.Ceil(highX)), f.left, f.right, 1)
		}
	}
	return x, newAxis(lowY, highY, f.bottom, f.top, 6)
}

func widened(low, high, target float64) (newLow, newHigh float64) {
	if low > high || target > 3*high {
		return low, high
	}
	return min(low, target), max(high, target)
}

// entries returns the legend. Targets beyond the axes are named with their values; without a
// function all count as such.
func (l *Lines) entries(visible func(Target) bool) []entry {
	var all []entry
	for i, s := range l.Series {
		all = append(all, entry{shortName(s.Name), func(c canvas, x, y float64) {
			c.line([]point{{x, y}, {x + 28, y}}, seriesColor(i), 2, false)
			c.area(marker(i, point{x + 14, y}), seriesColor(i), "")
		}})
	}
	for _, t := range l.Targets {
		name := t.Name
		if visible == nil || !visible(t) {
			name = fmt.Sprintf("%s (%s, beyond the axis)", t.Name, Number(t.Value))
		}
		all = append(all, entry{name, func(c canvas, x, y float64) {
			c.line([]point{{x, y}, {x + 28, y}}, soft, 1.5, true)
		}})
	}
	return all
}

func (l *Lines) draw(c canvas) {
	f := frame{left: 76, top: 44, right: linesWidth - 20, bottom: 370}
	x, y := l.axes(f)
	title(c, linesWidth, l.Title)
	for _, v := range x.ticks {
		c.line([]point{{x.at(v), f.top}, {x.at(v), f.bottom}}, grid, 1, false)
		c.text(point{x.at(v), f.bottom + 18}, x.label(v), textOptions{size: tickSize, anchor: atMiddle, soft: true})
	}
	for _, v := range y.ticks {
		c.line([]point{{f.left, y.at(v)}, {f.right, y.at(v)}}, grid, 1, false)
		c.text(point{f.left - 8, y.at(v) + 4}, y.label(v), textOptions{size: tickSize, anchor: atEnd, soft: true})
	}
	c.line([]point{{f.left, f.top}, {f.left, f.bottom}, {f.right, f.bottom}}, soft, 1, false)
	c.text(point{(f.left + f.right) / 2, f.bottom + 40}, l.X, textOptions{size: labelSize, anchor: atMiddle})
	c.text(point{20, (f.top + f.bottom) / 2}, l.Y, textOptions{size: labelSize, anchor: atMiddle, turned: true})
	visible := func(t Target) bool { return t.Vertical && x.has(t.Value) || !t.Vertical && y.has(t.Value) }
	for _, t := range l.Targets {
		switch {
		case !visible(t):
		case t.Vertical:
			c.line([]point{{x.at(t.Value), f.top}, {x.at(t.Value), f.bottom}}, soft, 1.5, true)
		default:
			c.line([]point{{f.left, y.at(t.Value)}, {f.right, y.at(t.Value)}}, soft, 1.5, true)
		}
	}
	for i, s := range l.Series {
		drawSeries(c, i, s, x, y)
	}
	legend(c, legendRows(l.entries(visible), linesWidth-20), (f.left+f.right)/2, f.bottom+64)
}

func drawSeries(c canvas, i int, s Series, x, y axis) {
	at := make([]point, len(s.Points))
	for k, p := range s.Points {
		at[k] = point{x.at(p.X), y.at(p.Y)}
		if p.Low < p.High {
			bar := []point{{at[k].x, y.at(p.Low)}, {at[k].x, y.at(p.High)}}
			c.line(bar, seriesColor(i), 1, false)
			for _, end := range bar {
				c.line([]point{{end.x - 4, end.y}, {end.x + 4, end.y}}, seriesColor(i), 1, false)
			}
		}
	}
	if len(at) > 1 {
		c.line(at, seriesColor(i), 2, false)
	}
	for k, p := range s.Points {
		note := cmp.Or(p.Note, fmt.Sprintf("%s: %s at %s", s.Name, Number(p.Y), Number(p.X)))
		c.area(marker(i, at[k]), seriesColor(i), note)
	}
}
