package gpu

import (
	"sync/atomic"

	"triton/pkg/gpu/nvml"
)

// call is a kind of call whose failures are remembered for each device.
type call int

const (
	memoryV2Call call = iota
	memoryCall
	bar1Call
	utilizationCall
	powerCall
	powerLimitCall
	energyCall
	accountingCall
	computeCall
	mpsCall
	graphicsCall
	calls
)

// handle is a GPU or a MIG device that can be asked for values.
type handle struct {
	dev nvml.Device
	// What a MIG device is asked for is limited to its part.
	isMIG                        bool
	gpuInstance, computeInstance int

	off  [calls]atomic.Int64 // why the kind of call is not made any more; 0: it is
	lost atomic.Bool
}

// ask makes a call and reacts to its failure:
//
//	unknown error                      the call is made once more; if it fails again it is not made any more
//	not supported, no permission,
//	no such function, other version,   it is not made any more on this device; the caller may know an
//	invalid argument, not started      older form
//	the GPU is lost                    nothing is asked of this device any more
//	all others                         the value is missing this time
func ask[T any](h *handle, c call, do func(nvml.Device) (T, nvml.Return)) (T, nvml.Return) {
	var none T
	if h.lost.Load() {
		return none, nvml.GPUIsLost
	}
	if why := h.off[c].Load(); why != 0 {
		return none, nvml.Return(why)
	}
	v, ret := do(h.dev)
	if ret == nvml.Unknown {
		v, ret = do(h.dev)
	}
	switch ret {
	case nvml.Success:
		return v, ret
	case nvml.GPUIsLost:
		h.lost.Store(true)
	case nvml.Unknown, nvml.NotSupported, nvml.NoPermission, nvml.FunctionNotFound, nvml.ArgumentMismatch, nvml.InvalidArgument, nvml.Uninitialized:
		h.off[c].Store(int64(ret))
	}
	return none, ret
}

// once makes a call that identifies a device, with a second try after an unknown error.
func once[T any](do func() (T, nvml.Return)) (T, nvml.Return) {
	v, ret := do()
	if ret == nvml.Unknown {
		v, ret = do()
	}
	return v, ret
}

// known is once for a value that may be missing.
func known[T any](do func() (T, nvml.Return)) Optional[T] {
	if v, ret := once(do); ret == nvml.Success {
		return Some(v)
	}
	return Optional[T]{}
}
