package load

import "runtime/debug"

// collectorPercent is GOGC while load is sent. The heap of a generator is small, and gRPC
// allocates some kilobytes for each request: with the default of 100 the collector runs tens of
// times per second, on the processors that send the load.
const collectorPercent = 400

// RelaxCollector makes the garbage collector run less often, until restore is called. A percentage
// that the user has set stays.
func RelaxCollector() (restore func()) {
	before := debug.SetGCPercent(collectorPercent)
	if before != 100 {
		debug.SetGCPercent(before)
		return func() {}
	}
	return func() { debug.SetGCPercent(before) }
}
