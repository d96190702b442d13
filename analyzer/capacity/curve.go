// The cost curve of a model: how long an instance runs a batch of so many rows,
// while so many instances of its device run. It is measured once and then answers what other
// settings would do.

package capacity

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"
)

// CurvePoint is one measurement.
type CurvePoint struct {
	Batch     int // rows
	Instances int // of the device that ran at the same time; 0 is 1
	Time      time.Duration
	// Executions is how many executions Time is the mean of; 0 is 1. Points of the same
	// batch and instances are combined by it.
	Executions uint64
}

// Curve is the cost of batches. It is not changed after New.
type Curve struct{ lines []curveLine }

// curveLine is the cost at one number of instances, by ascending batch.
type curveLine struct {
	instances int
	points    []CurvePoint
}

// NewCurve returns the curve through points.
func NewCurve(points []CurvePoint) (*Curve, error) {
	if len(points) == 0 {
		return nil, errors.New("a cost curve needs at least one batch size with its time")
	}
	sums := map[[2]int]CurvePoint{}
	for _, p := range points {
		if p.Batch < 1 || p.Batch > 1<<20 || p.Instances < 0 || p.Time <= 0 || p.Time > 24*time.Hour {
			return nil, fmt.Errorf("batch %d with %d instances takes %v: batches have 1 to %d rows and take more than 0 and at most a day", p.Batch, p.Instances, p.Time, 1<<20)
		}
		p.Instances, p.Executions = max(p.Instances, 1), max(p.Executions, 1)
		key := [2]int{p.Instances, p.Batch}
		s := sums[key]
		all := s.Executions + p.Executions
		mean := (float64(s.Time)*float64(s.Executions) + float64(p.Time)*float64(p.Executions)) / float64(all)
		sums[key] = CurvePoint{p.Batch, p.Instances, time.Duration(mean), all}
	}
	c := &Curve{}
	for _, p := range sums {
		i := slices.IndexFunc(c.lines, func(l curveLine) bool { return l.instances == p.Instances })
		if i < 0 {
			i = len(c.lines)
			c.lines = append(c.lines, curveLine{instances: p.Instances})
		}
		c.lines[i].points = append(c.lines[i].points, p)
	}
	sort.Slice(c.lines, func(i, j int) bool { return c.lines[i].instances < c.lines[j].instances })
	for _, l := range c.lines {
		sort.Slice(l.points, func(i, j int) bool { return l.points[i].Batch < l.points[j].Batch })
	}
	return c, nil
}

// Points returns the measurements, by instances and batch.
func (c *Curve) Points() []CurvePoint {
	var all []CurvePoint
	for _, l := range c.lines {
		all = append(all, l.points...)
	}
	return all
}

// Time returns how long a batch of that many rows takes while so many instances of the device
// run. Between measurements the time is on the straight line between them; beyond the
// largest batch, on that through the two largest. Below the smallest batch it is that of
// the smallest. Beyond the numbers of instances that were measured it is that of the nearest.
func (c *Curve) Time(rows, instances int) time.Duration {
	i, found := slices.BinarySearchFunc(c.lines, instances, func(l curveLine, n int) int { return cmp.Compare(l.instances, n) })
	switch {
	case found:
		return c.lines[i].at(rows)
	case i == 0:
		return c.lines[0].at(rows)
	case i == len(c.lines):
		return c.lines[i-1].at(rows)
	}
	a, b := c.lines[i-1], c.lines[i]
	return between(a.instances, b.instances, instances, a.at(rows), b.at(rows))
}

func (l curveLine) at(rows int) time.Duration {
	i, found := slices.BinarySearchFunc(l.points, rows, func(p CurvePoint, n int) int { return cmp.Compare(p.Batch, n) })
	switch last := len(l.points) - 1; {
	case found:
		return l.points[i].Time
	case i == 0:
		return l.points[0].Time
	case i > last && last == 0:
		return time.Duration(float64(l.points[0].Time) * float64(rows) / float64(l.points[0].Batch))
	case i > last:
		i = last
	}
	a, b := l.points[i-1], l.points[i]
	// A line that falls would end below zero.
	return max(between(a.Batch, b.Batch, rows, a.Time, b.Time), min(a.Time, b.Time))
}

func between(x0, x1, x int, y0, y1 time.Duration) time.Duration {
	share := float64(x-x0) / float64(x1-x0)
	return y0 + time.Duration(share*float64(y1-y0))
}

// Doubts says what Time has to assume for batches of up to that many rows and so many instances
// on a device: what lies outside the measurements.
func (c *Curve) Doubts(rows, instances int) []string {
	var out []string
	first, last := c.lines[0], c.lines[len(c.lines)-1]
	if instances > last.instances {
		out = append(out, fmt.Sprintf("the curve was measured with at most %d at work on a device: %d instances are assumed not to slow each other down further, so this is the best case", last.instances, instances))
	}
	if instances < first.instances {
		out = append(out, fmt.Sprintf("the curve was measured with at least %d at work on a device: fewer, here %d, are assumed to be no faster", first.instances, instances))
	}
	largest := 0
	for _, l := range c.lines {
		largest = max(largest, l.points[len(l.points)-1].Batch)
	}
	if rows > largest {
		out = append(out, fmt.Sprintf("batches above %d rows were not measured: their time is extrapolated", largest))
	}
	return out
}

// Best returns the most rows in a second that an instance can run with batches of up to that
// many rows.
func (c *Curve) Best(rows, instances int) float64 {
	best := 0.0
	for n := 1; n <= max(rows, 1); n++ {
		best = max(best, float64(n)/c.Time(n, instances).Seconds())
	}
	return best
}
