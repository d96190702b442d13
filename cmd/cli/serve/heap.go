package serve

import "runtime"

// heapFloor is the size in bytes of an allocation that is never written to, so it takes
// address space but no memory. The garbage collector lets the heap grow in proportion to
// the live data. Models and tensors are outside the heap: without the floor the collector
// would run dozens of times a second for gRPC's garbage, which takes a fifth of the
// processor time of a small call.
const heapFloor = 32 << 20

// onHeapFloor runs f while the heap holds the floor.
func onHeapFloor(f func() error) error {
	floor := make([]byte, heapFloor)
	untouch(floor)
	defer runtime.KeepAlive(floor)
	return f()
}
