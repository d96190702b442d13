package serve

import "runtime"

// heapFloor is memory, in bytes, that is never touched and so costs addresses
// only. The collector lets the heap grow in proportion to what lives in it: with
// models and tensors outside, that is so little that gRPC's garbage would have it
// run dozens of times a second, for a fifth of the processor time of a small
// call. With the floor the garbage may grow to about this size in between.
const heapFloor = 32 << 20

// onHeapFloor runs f with the floor in the heap.
func onHeapFloor(f func() error) error {
	floor := make([]byte, heapFloor)
	defer runtime.KeepAlive(floor)
	return f()
}
