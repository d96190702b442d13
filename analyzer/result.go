package analyzer

import (
	"time"

	"triton/analyzer/search"
)

// Source is the kind of memory that the conclusions are about.
type Source string

// The sources of memory readings.
const (
	GPUProcesses Source = "GPU memory of the server's processes"
	GPUDevices   Source = "GPU memory taken since the start, whole devices"
	HostPSS      Source = "host memory (PSS)"
	NoSource     Source = "none"
)

// Result is the result of an analysis. After an interrupt or a failure it is
// incomplete.
type Result struct {
	Model   string
	Started time.Time
	// Source is the memory that Base, Fit and Capacity are about.
	Source Source
	// Batch is the batch size at which all instances of each server executed at
	// once: the largest that the configuration allows.
	Batch int
	// Base is the memory of a server without models.
	Base     Memory
	Variants []Variant
	Points   []Point
	// Fit is the memory above the base over the instance count; nil with too few
	// counts.
	Fit      *search.Line
	Capacity Capacity
	// Recommended is an index of Points, or -1.
	Recommended int
	// Reason explains the recommendation, or why there is none.
	Reason string
	// Config is the recommended config.pbtxt.
	Config      []byte
	Warnings    []string
	Interrupted bool
}

// Variant is one server of the analysis.
type Variant struct {
	Instances int
	Loaded    Memory // when it was ready, before the loads
	Peak      Memory // over all loads and the exercise
	// Complete is set when all loads were measured and all instances exercised,
	// so that Peak compares with that of other servers.
	Complete bool
	Err      error
}

// Point is one measured setting.
type Point struct {
	Instances int
	search.Load
	Measurement
	// Memory is the peak since the server started.
	Memory Memory
	Err    error // the measurement failed; the figures are not valid
}

// Capacity is the number of instances that fit in memory.
type Capacity struct {
	// Memory is the memory available, Usable the part without the headroom.
	Memory, Usable uint64
	Origin         string // the source of Memory
	// Known is set when the cost of an instance is known.
	Known bool
	// Limited is set when an instance has a measurable cost.
	Limited   bool
	Instances int
}

// Fits reports whether the peak of a point's server is within the usable memory.
// known is false if one of the two could not be read.
func (r *Result) Fits(p Point) (fits, known bool) {
	memory := p.Memory
	for _, v := range r.Variants {
		if v.Instances == p.Instances {
			memory = memory.peak(v.Peak)
		}
	}
	bytes, ok := r.Bytes(memory)
	return bytes <= r.Capacity.Usable, ok && r.Capacity.Memory > 0
}

// Bytes returns the memory of the result's Source.
func (r *Result) Bytes(m Memory) (uint64, bool) { return m.from(r.Source) }
