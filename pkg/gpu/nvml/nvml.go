// Package nvml is the part of NVIDIA's management library that this program uses, as small
// interfaces without cgo: what they mean is decided in package gpu, and package gputest
// implements them for tests. Load returns the real library.
package nvml

// Library is NVML. No other method may be called before a successful Init: the real library
// would end the program.
type Library interface {
	Init() Return
	Shutdown() Return
	DriverVersion() (string, Return)
	NVMLVersion() (string, Return)
	// CUDAVersion returns the newest version of CUDA that the driver supports: 12040
	// is 12.4.
	CUDAVersion() (int, Return)
	// DeviceCount counts all GPUs, those without permission among them.
	DeviceCount() (int, Return)
	Device(index int) (Device, Return)
	ProcessName(pid int) (string, Return)
}

// Device is a GPU or a MIG device. Its methods may be called at the same time. Each may
// return any Return; a function that the installed driver lacks returns FunctionNotFound.
type Device interface {
	UUID() (string, Return)
	Name() (string, Return)
	PCI() (PCI, Return)
	Capability() (major, minor int, ret Return)
	ComputeMode() (ComputeMode, Return)
	Persistence() (bool, Return)
	Virtualization() (Virtualization, Return)

	MemoryV2() (MemoryV2, Return)
	Memory() (Memory, Return)
	BAR1() (Memory, Return)
	Processes(kind ProcessKind) ([]Process, Return)
	Utilization() (Utilization, Return)
	Power() (milliwatts uint32, ret Return)
	PowerLimit() (milliwatts uint32, ret Return)
	Energy() (millijoules uint64, ret Return)

	// Accounting reports whether the driver keeps the memory peaks of processes.
	Accounting() (on bool, ret Return)
	AccountingPIDs() ([]int, Return)
	AccountingStats(pid int) (AccountingStats, Return)

	MIGMode() (current, pending bool, ret Return)
	// MaxMIGDevices returns the number of indices of MIGDevice. Indices without a
	// device return NotFound.
	MaxMIGDevices() (int, Return)
	MIGDevice(index int) (Device, Return)
	// InstanceProfile describes a kind of GPU instance, by its number from 0 to
	// InstanceProfiles-1.
	InstanceProfile(number int) (InstanceProfile, Return)

	// The following are of MIG devices only.
	GPUInstance() (int, Return)
	ComputeInstance() (int, Return)
	Attributes() (Attributes, Return)
}

// InstanceProfiles is how many kinds of GPU instances NVML knows. A GPU supports some.
const InstanceProfiles = 17

// PCI is a bus address.
type PCI struct{ Domain, Bus, Device uint32 }

// Memory is a memory area in bytes.
type Memory struct{ Total, Free, Used uint64 }

// MemoryV2 separates the driver's reserve. Drivers disagree whether Used contains it.
type MemoryV2 struct{ Total, Reserved, Free, Used uint64 }

// Utilization is the time in which the GPU and its memory were active, in percent.
type Utilization struct{ GPU, Memory uint32 }

// ProcessKind selects a list of processes.
type ProcessKind int

// The lists of processes.
const (
	Compute ProcessKind = iota
	MPS
	Graphics
)

// Process is a process on a device. Memory is 0 or all ones where the driver hides it.
// Off MIG, the instances are NoInstance.
type Process struct {
	PID                          uint32
	Memory                       uint64
	GPUInstance, ComputeInstance uint32
}

// NoInstance is the instance of processes on whole GPUs.
const NoInstance = 0xFFFFFFFF

// AccountingStats are what the driver recorded of a process.
type AccountingStats struct {
	MaxMemory uint64 // bytes
	Running   bool
}

// Attributes are the share that a MIG device has of its GPU.
type Attributes struct {
	MemoryMB                 uint64
	Multiprocessors          uint32
	GPUSlices, ComputeSlices uint32
}

// InstanceProfile is a kind of GPU instance.
type InstanceProfile struct {
	ID              int
	Name            string // empty if the driver does not tell it
	Slices          int
	Instances       int // how many fit on an empty GPU
	Multiprocessors int
	MemoryMB        uint64
}

// ComputeMode is who may use a device.
type ComputeMode int

// The compute modes.
const (
	SharedMode ComputeMode = iota
	ExclusiveThread
	Prohibited
	ExclusiveProcess
)

// Virtualization is what kind of virtual machine has a device.
type Virtualization int

// The virtualization modes.
const (
	BareMetal Virtualization = iota
	PassThrough
	VGPU
	HostVGPU
	HostVSGA
)
