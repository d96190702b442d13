package serve

import "runtime"

// heapFloor is the size in bytes of an allocation that is never touched, so that it costs
// address space only. The garbage collector lets the heap grow in proportion to the live
// data. Models and tensors are outside the heap: without the floor the collector would run
// dozens of times a second for gRPC's garbage, for a fifth of the processor time of a small
// call.
const heapFloor = 32 << 20

// onHeapFloor runs f while the heap holds the floor.
func onHeapFloor(f func() error) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	return f()
}
