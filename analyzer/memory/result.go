package memory

import (
	"time"

	"triton/analyzer/memory/footprint"
	"triton/analyzer/memory/meter"
)

// Result is the result of an analysis. After an interrupt or a failure it is
// incomplete.
type Result struct {
	Model   string
	Started time.Time
	Shapes  []string
	// Points are the measured settings.
	Points []Point
	// Compared are the measurements by which instance counts are compared, one for each server.
	Compared []Point
	// Footprint is the memory of the model, and how many instances to serve.
	Footprint footprint.Result
	// Places names where memory was read, and how.
	Places map[footprint.Place]PlaceName
	// Host is the host memory of each server after the first executions.
	Host []HostReading
	// Batch is the largest batch that an instance can get.
	Batch       int
	Recommended *Recommendation // nil if there is none
	Reason      string          // of the recommendation, or why there is none
	Undecided   bool            // there is none because servers with the same count differ too much
	Delay       *DelayFinding   // nil if the queue delay does not dominate the latency of the recommended setting
	Warnings    []string
	Quick       bool // short measurements
	Interrupted bool
}

// PlaceName describes a place for people.
type PlaceName struct{ Name, Source string }

// HostReading is the host memory of a server by kind.
type HostReading struct {
	Instances int
	meter.Memory
}

// Point is one measured setting.
type Point struct {
	Instances int
	Load
	Measurement
	// Memory is that of the server after the measurement.
	Memory footprint.Reading
	Err    error // the measurement failed; the figures are not valid
}

// Recommendation is a configuration to serve.
type Recommendation struct {
	Instances    int
	MaxBatchSize int // 0: the model does not batch
	// DynamicBatching is set if the server forms batches of single requests.
	DynamicBatching bool
	// Point is the best setting that was measured with it; nil if none was.
	Point *Point
	// Config is the user's config.pbtxt with these values; comments are kept. Diff are its changed lines and
	// those around them, which begin with -, + or a blank.
	Config []byte
	Diff   []string
	// File is where Config was written; empty if it was not.
	File string
}
