// Package gpu is a view of the NVIDIA GPUs of this process through NVML: what
// there is, how much memory is in use and by which process, how busy and how
// hungry the devices are. It is also the one place that knows which GPU a CUDA
// ordinal means. It changes nothing on a device and runs nothing on it. A
// build without cgo, and a machine without driver, have no GPUs.
package gpu

import "errors"

// ErrNoDriver says that this machine has no usable NVIDIA driver, or that the
// program was built without cgo.
var ErrNoDriver = errors.New("no NVIDIA driver")

// View reads GPUs. Its methods are safe for concurrent use.
type View interface {
	// Devices returns the GPUs that CUDA showed to this process when the view was opened,
	// by their ordinal.
	Devices() []Device
	// Read takes the device's values now. What cannot be read is absent.
	Read(d Device) Reading
	// Processes returns the compute processes on the device, in order of PID.
	Processes(d Device) ([]Process, error)
	Close() error
}

// Device is one GPU.
type Device struct {
	// Index is the CUDA ordinal: what instance groups, clients and engines of this
	// process call the GPU. NVML and nvidia-smi may count otherwise, see Environment.
	Index int
	UUID  string // of the GPU, also where the process has a part of it
	Name  string
	// Capability is the CUDA compute capability, such as "8.6"; empty when the
	// driver does not tell.
	Capability string
}

// Reading is a device's values at one moment.
type Reading struct {
	// Memory in bytes. Used is what was allocated; what the driver keeps for
	// itself is in neither Used nor Free where the driver tells them apart.
	MemoryTotal, MemoryUsed, MemoryFree Optional[uint64]
	Utilization                         Optional[float64] // 0 to 1
	Power, PowerLimit                   Optional[float64] // watts
	Energy                              Optional[float64] // joules since the driver was loaded
}

// Process is a process with memory on a device. In a container its PID may be
// that of another name space.
type Process struct {
	PID    int
	Memory Optional[uint64] // bytes
}

// Optional is a value that a device may not offer.
type Optional[T any] struct {
	Value T
	Known bool
}

// Some returns a known value.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }
