package perf

import "time"

// Progress is a glance at the level under way.
type Progress struct {
	Batch, Concurrency int
	Trial              int
	InWindow           time.Duration // since the window began
	Window             time.Duration // planned length; 0 when not by time
	Requests           uint64        // since the level began
	P50, P90, P95, P99 time.Duration // since the level began
	Passes             []float64     // throughput of the windows so far
}
