package analyzer

import (
	"time"

	"triton/analyzer/search"
)

// Source is which memory the conclusions are about.
type Source string

// The sources of memory readings.
const (
	GPUProcesses Source = "GPU memory of the server's processes"
	GPUDevices   Source = "GPU memory taken since the start, whole devices"
	HostPSS      Source = "host memory (PSS)"
	NoSource     Source = "none"
)

// Result is the outcome of an analysis; it is filled as far as the analysis
// came.
type Result struct {
	Model   string
	Started time.Time
	// Source says which memory Base, Fit and Capacity are about.
	Source Source
	// Batch is the batch size at which all instances of each server were
	// exercised together: the largest that the configuration lets happen.
	Batch int
	// Base is the memory of a server without models.
	Base     Memory
	Variants []Variant
	Points   []Point
	// Fit is the memory above the base over the instance count; nil when there
	// were too few counts.
	Fit      *search.Line
	Capacity Capacity
	// Recommended is a position in Points, or -1 for none.
	Recommended int
	// Reason says in words why this setting, or why none.
	Reason string
	// Config is the recommended config.pbtxt.
	Config      []byte
	Warnings    []string
	Interrupted bool
}

// Variant is one server of the analysis.
type Variant struct {
	Instances int
	Loaded    Memory // when it was ready, before any load
	Peak      Memory // over all loads and the exercise
	// Complete says that the server went through all loads and that all its
	// instances were exercised, so that Peak compares with that of others.
	Complete bool
	Err      error
}

// Point is one measured setting.
type Point struct {
	Instances int
	search.Load
	Measurement
	// Memory is the highest reading since the server started.
	Memory Memory
	Err    error // the measurement failed; the numbers mean nothing
}

// Capacity is how many instances fit in memory.
type Capacity struct {
	// Memory is what there is, Usable what remains of it after headroom.
	Memory, Usable uint64
	Origin         string // what says how much memory there is
	// Known is false when the cost of an instance is not known.
	Known bool
	// Limited is false when instances cost no memory that was seen.
	Limited   bool
	Instances int
}

// Fits says whether a point's server stays within the usable memory at its
// peak; known is false where one of the two was not read.
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

// Bytes is the memory that the result's conclusions count.
func (r *Result) Bytes(m Memory) (uint64, bool) { return m.from(r.Source) }
