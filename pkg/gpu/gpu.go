// Package gpu reads the NVIDIA GPUs of this machine through NVML: which exist, which of them
// CUDA shows to this process, how they are divided into MIG instances, how much memory is in
// use and by which process, their utilization and power. It is also the only place that
// maps CUDA ordinals to GPUs. It changes nothing on a device and runs nothing on it. A build
// without cgo, and a machine without driver, have no GPUs. catalog.go has what is known of GPUs that are not at hand.
//
// Every value is optional: devices, drivers, permissions and containers hide some. What a
// failing call means is decided in one place, reaction.go.
package gpu

import (
	"encoding/json"
	"errors"
)

// ErrNoDriver reports that this machine has no usable NVIDIA driver, or that the
// program was built without cgo.
var ErrNoDriver = errors.New("no NVIDIA driver")

// View reads GPUs. Its methods are safe for concurrent use. Machine is the View of the
// real devices.
type View interface {
	// Devices returns, by ordinal, the GPUs that CUDA showed to this process
	// when the view was opened.
	Devices() []Device
	// Read returns the current values of the GPU or MIG instance with the UUID of d.
	// Values that cannot be read are absent.
	Read(d Device) Reading
	// Processes returns the processes on the device, sorted by PID.
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
	// Instance is the UUID of the MIG instance that CUDA shows to the process in place
	// of the GPU, if it is known; empty for a whole GPU.
	Instance string
}

// Reading holds the values of a device at one moment.
type Reading struct {
	// Memory in bytes. Used is the allocated memory. The driver's reserve is in neither
	// Used nor Free if the driver reports it separately, which older ones do not. All
	// MIG devices of a GPU instance have the same memory.
	MemoryTotal    Optional[uint64] `json:"memory_total,omitzero"`
	MemoryReserved Optional[uint64] `json:"memory_reserved,omitzero"`
	MemoryUsed     Optional[uint64] `json:"memory_used,omitzero"`
	MemoryFree     Optional[uint64] `json:"memory_free,omitzero"`
	// BAR1 is the window through which the bus reaches the memory, in bytes.
	BAR1Total   Optional[uint64]  `json:"bar1_total,omitzero"`
	BAR1Used    Optional[uint64]  `json:"bar1_used,omitzero"`
	Utilization Optional[float64] `json:"utilization,omitzero"` // 0 to 1
	Power       Optional[float64] `json:"power,omitzero"`       // watts
	PowerLimit  Optional[float64] `json:"power_limit,omitzero"` // watts
	Energy      Optional[float64] `json:"energy,omitzero"`      // joules since the driver was loaded
	// Lost reports that the GPU fell off the bus: it has no values from now on.
	Lost bool `json:"lost,omitempty"`
}

// Process is a process with memory on a device. In a container its PID may be that of
// another namespace.
type Process struct {
	PID    int              `json:"pid"`
	Memory Optional[uint64] `json:"memory,omitzero"` // bytes
	Use    Use              `json:"use"`
	// Name is known only in an Inventory.
	Name string `json:"name,omitempty"`
}

// Optional is a value that some devices do not have.
type Optional[T any] struct {
	Value T
	Known bool
}

// Some returns a known value.
func Some[T any](v T) Optional[T] { return Optional[T]{v, true} }

// IsZero reports that the value is not known. JSON then leaves it out.
func (o Optional[T]) IsZero() bool { return !o.Known }

// MarshalJSON writes the value, or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Known {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}
