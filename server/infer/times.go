package infer

import "time"

var processStart = time.Now()

// Now returns the monotonic time in nanoseconds that all time stamps use.
func Now() int64 { return int64(time.Since(processStart)) }

// Times are monotonic time stamps in nanoseconds. The stamps from ComputeStart to
// ComputeEnd are those of the batch. For an ensemble, ComputeStart is 0 and the
// differences between the other three are sums over its steps.
type Times struct {
	Received     int64
	Queued       int64
	ComputeStart int64
	InputEnd     int64
	OutputStart  int64
	ComputeEnd   int64
	Answered     int64 // the final response
}
