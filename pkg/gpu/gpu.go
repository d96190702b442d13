// Package gpu reads the NVIDIA GPUs of this process through NVML: which exist, how much
// memory is in use and by which process, their utilization and power. It is also the
// only place that maps CUDA ordinals to GPUs. It changes nothing on a device and runs
// nothing on it. A build without cgo, and a machine without driver, have no GPUs.
package gpu

import "errors"

// ErrNoDriver reports that this machine has no usable NVIDIA driver, or that the
// program was built without cgo.
var ErrNoDriver = errors.New("no NVIDIA driver")

// View reads GPUs. Its methods are safe for concurrent use.
type View interface {
	// Devices returns, by ordinal, the GPUs that CUDA showed to this process
	// when the view was opened.
	Devices() []Device
	// Read returns the current values of the device. Values that cannot be read
	// are absent.
	Read(d Device) Reading
	// Processes returns the compute processes on the device, sorted by PID.
	Processes(d Device) ([]Process, error)
	Close() error
}

// Device is one GPU.
type Device struct {
	// Index is the CUDA ordinal, which instance groups, clients and libraries
	// of this process use. NVML and nvidia-smi may number GPUs differently, see
	// Environment.
	Index int
	UUID  string // of the whole GPU, even if the process has a MIG instance
	Name  string
	// Capability is the CUDA compute capability, such as "8.6"; empty if the
	// driver does not report it.
	Capability string
}

// Reading holds the values of a device at one moment.
type Reading struct {
	// Memory in bytes. Used is the allocated memory; the driver's reserve is in
	// neither Used nor Free if the driver reports it separately.
	MemoryTotal, MemoryUsed, MemoryFree Optional[uint64]
	Utilization                         Optional[float64] // 0 to 1
	Power, PowerLimit                   Optional[float64] // watts
	Energy                              Optional[float64] // joules since the driver was loaded
}

// Process is a process with memory on a device. In a container its PID may be that of
// another namespace.
type Process struct {
	PID    int
	Memory Optional[uint64] // bytes
}

// Optional is a value that some devices do not have.
type Optional[T any] struct {
	Value T
	Known bool
}

// Some returns a known value.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }
