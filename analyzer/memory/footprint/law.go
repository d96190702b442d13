// A law turns memory readings at several instance counts into the cost of an instance: a line, its intervals, and
// bounds that are safe to extrapolate.

package footprint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"triton/pkg/measure"
)

// LawPoint is the peak memory of a server with a number of instances, in bytes.
type LawPoint struct {
	Instances int
	Bytes     float64
}

// Estimate is a value with an interval that holds the truth in at least 95 of 100 analyses.
type Estimate struct{ Value, Low, High float64 }

// Law is memory as a function of the instance count.
type Law struct {
	Points []LawPoint // in the order of their counts
	// PerInstance is the median slope of all pairs of points, Base the memory at no instance: the
	// server and what the instances share.
	PerInstance, Base Estimate
	// SafePerInstance is the largest step from one count to the next that is not noise, at least
	// PerInstance.
	// SafeBase is the lowest base with which no point is above the line of that slope. An
	// estimate that is too high leaves memory free; one that is too low lets servers run out.
	SafePerInstance, SafeBase float64
	// Noise is the standard deviation of a point around the line, Residual the largest distance.
	Noise, Residual float64
	// SuperLinear is set if instances beyond the middle of the counts took more than those below.
	SuperLinear bool

	slope, middle, mean, spread float64 // of the least-squares line, for the intervals
}

const (
	minCounts = 3
	// noisy is the noise above which the safe base is raised.
	noisy = 16 << 20
	// growing is how much a step must exceed the one before to be called super-linear.
	growing = 1.10
)

// ErrTooFew reports points that do not suffice for a law: two always fit a line.
var ErrTooFew = errors.New("the cost of an instance takes three instance counts and a repeat of one of them")

// FitLaw computes the law of at least three counts, one of them repeated.
func FitLaw(points []LawPoint) (Law, error) {
	l := Law{Points: slices.Clone(points)}
	sort.SliceStable(l.Points, func(i, j int) bool { return l.Points[i].Instances < l.Points[j].Instances })
	levels := l.levels()
	if len(levels) < minCounts || len(points) < minCounts+1 {
		return Law{}, fmt.Errorf("%w; measured: %d", ErrTooFew, len(levels))
	}
	l.line()
	l.intervals()
	l.safe(levels)
	return l, nil
}

// levels returns the largest reading of each count. The larger of two readings is the safe one.
func (l *Law) levels() []LawPoint {
	var out []LawPoint
	for _, p := range l.Points {
		if n := len(out); n > 0 && out[n-1].Instances == p.Instances {
			out[n-1].Bytes = max(out[n-1].Bytes, p.Bytes)
			continue
		}
		out = append(out, p)
	}
	return out
}

// line computes the Theil-Sen line: one bad reading does not move it.
func (l *Law) line() {
	var slopes []float64
	for i, a := range l.Points {
		for _, b := range l.Points[i+1:] {
			if b.Instances > a.Instances {
				slopes = append(slopes, (b.Bytes-a.Bytes)/float64(b.Instances-a.Instances))
			}
		}
	}
	l.PerInstance.Value = measure.Median(slopes)
	var bases []float64
	for _, p := range l.Points {
		bases = append(bases, p.Bytes-l.PerInstance.Value*float64(p.Instances))
	}
	l.Base.Value = measure.Median(bases)
	for _, p := range l.Points {
		l.Residual = max(l.Residual, math.Abs(p.Bytes-l.At(p.Instances)))
	}
}

// intervals computes the least-squares line, the noise around it, and the intervals.
func (l *Law) intervals() {
	n := float64(len(l.Points))
	for _, p := range l.Points {
		l.mean += float64(p.Instances) / n
		l.middle += p.Bytes / n
	}
	var xy float64
	for _, p := range l.Points {
		d := float64(p.Instances) - l.mean
		l.spread += d * d
		xy += d * (p.Bytes - l.middle)
	}
	l.slope = xy / l.spread
	var squares float64
	for _, p := range l.Points {
		r := p.Bytes - l.middle - l.slope*(float64(p.Instances)-l.mean)
		squares += r * r
	}
	l.Noise = math.Sqrt(squares / (n - 2))
	half := l.quantile() * l.Noise / math.Sqrt(l.spread)
	l.PerInstance = around(l.PerInstance.Value, l.slope, half)
	half = l.quantile() * l.Noise * math.Sqrt(1/n+l.mean*l.mean/l.spread)
	l.Base = around(l.Base.Value, l.middle-l.slope*l.mean, half)
}

// around returns a value with the interval around the least-squares estimate.
func around(value, center, half float64) Estimate {
	return Estimate{value, min(value, center-half), max(value, center+half)}
}

// safe computes the bounds for extrapolation.
func (l *Law) safe(levels []LawPoint) {
	l.SafePerInstance = l.PerInstance.Value
	// Where repeats differ, so do steps: each is lowered by what may be noise.
	noise := 0.0
	if l.repeatsDiffer() {
		noise = 2 * math.Sqrt2 * l.Noise
	}
	for i, p := range levels[1:] {
		apart := float64(p.Instances - levels[i].Instances)
		l.SafePerInstance = max(l.SafePerInstance, (p.Bytes-levels[i].Bytes-noise)/apart)
	}
	first, middle, last := levels[0], levels[len(levels)/2], levels[len(levels)-1]
	below, above := slope(first, middle), slope(middle, last)
	if more := (above - below) * float64(last.Instances-middle.Instances); above > growing*below && more > 2*l.Noise {
		l.SuperLinear = true
		l.SafePerInstance = max(l.SafePerInstance, above, slope(levels[len(levels)-2], last))
	}
	l.SafeBase = math.Inf(-1)
	for _, p := range levels {
		l.SafeBase = max(l.SafeBase, p.Bytes-l.SafePerInstance*float64(p.Instances))
	}
	if l.Noise > noisy {
		l.SafeBase += 2 * l.Noise
	}
}

func slope(a, b LawPoint) float64 { return (b.Bytes - a.Bytes) / float64(b.Instances-a.Instances) }

// repeatsDiffer reports whether two servers with the same count had different memory.
func (l *Law) repeatsDiffer() bool {
	for i, p := range l.Points[1:] {
		if before := l.Points[i]; before.Instances == p.Instances && before.Bytes != p.Bytes {
			return true
		}
	}
	return false
}

// At returns the memory of the line at a count.
func (l *Law) At(instances int) float64 {
	return l.Base.Value + l.PerInstance.Value*float64(instances)
}

// Upper returns a bound of the memory at a count: the safe line, or the upper end of what the
// noise allows, whichever is more.
func (l *Law) Upper(instances int) float64 {
	k := float64(instances)
	d := k - l.mean
	line := l.middle + l.slope*d
	line += l.quantile() * l.Noise * math.Sqrt(1+1/float64(len(l.Points))+d*d/l.spread)
	return max(l.SafeBase+l.SafePerInstance*k, line)
}

// Costs reports whether an instance costs memory that can be told from the noise. floor is the
// smallest cost that counts.
func (l *Law) Costs(floor float64) bool {
	return l.PerInstance.Low > 0 && l.PerInstance.Value >= floor
}

// quantile is Student's t for an interval of 98 %.
func (l *Law) quantile() float64 {
	return measure.StudentQuantile(0.99, float64(len(l.Points)-2))
}
