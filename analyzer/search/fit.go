package search

import "math"

// Sample is the memory above a server without models, in bytes, for an instance
// count.
type Sample struct {
	Instances int
	Bytes     int64
}

// Line is memory as a function of the instance count:
// PerModel + PerInstance * count.
type Line struct {
	// PerModel and PerInstance are the least-squares line, for people.
	PerModel, PerInstance float64
	// Residual is the largest distance of a sample from that line.
	Residual float64
	// MaxPerInstance is the largest step between adjacent counts, at least the slope of the
	// line. Capacity uses it because an estimate that is too high only leaves memory free,
	// while one that is too low lets servers run out of memory.
	MaxPerInstance float64
	last           Sample // the sample with the most instances
}

// Fit computes the line through samples of distinct counts, in any order. ok is
// false with fewer than two counts.
func Fit(samples []Sample) (line Line, ok bool) {
	if len(samples) < 2 {
		return Line{}, false
	}
	var meanX, meanY float64
	for _, s := range samples {
		meanX += float64(s.Instances) / float64(len(samples))
		meanY += float64(s.Bytes) / float64(len(samples))
	}
	var xx, xy float64
	for _, s := range samples {
		dx := float64(s.Instances) - meanX
		xx += dx * dx
		xy += dx * (float64(s.Bytes) - meanY)
	}
	if xx == 0 {
		return Line{}, false
	}
	line.PerInstance = xy / xx
	line.PerModel = meanY - line.PerInstance*meanX
	line.MaxPerInstance = line.PerInstance
	for _, s := range samples {
		line.Residual = max(line.Residual, math.Abs(float64(s.Bytes)-line.at(s.Instances)))
		if s.Instances > line.last.Instances {
			line.last = s
		}
		if next, ok := nextSample(samples, s); ok {
			step := float64(next.Bytes-s.Bytes) / float64(next.Instances-s.Instances)
			line.MaxPerInstance = max(line.MaxPerInstance, step)
		}
	}
	return line, true
}

// nextSample returns the sample with the next larger count.
func nextSample(samples []Sample, s Sample) (next Sample, ok bool) {
	for _, o := range samples {
		if o.Instances > s.Instances && (!ok || o.Instances < next.Instances) {
			next, ok = o, true
		}
	}
	return next, ok
}

// at returns the memory of the line for a count.
func (l Line) at(instances int) float64 {
	return l.PerModel + l.PerInstance*float64(instances)
}

// Capacity returns the number of instances that fit into usable bytes, of which a
// server without models takes base. limited is false if instances have no
// measurable cost.
func Capacity(usable, base int64, line Line) (instances int, limited bool) {
	if line.MaxPerInstance <= 0 {
		return 0, false
	}
	free := float64(usable) - float64(base) - float64(line.last.Bytes)
	n := math.Floor(float64(line.last.Instances) + free/line.MaxPerInstance)
	return int(min(max(n, 0), math.MaxInt32)), true
}
