// Package gputest simulates NVIDIA GPUs: it implements the interfaces of package nvml, so that
// package gpu runs over it as it does over a driver. The devices have memory, MIG instances
// and processes; simulated servers allocate memory by a scripted law (Law) with the
// imperfections of real ones; every call can be made to fail. It is for tests only.
//
// The simulator ends the test with a panic where a real driver would end the program: a call
// before Init or after the last Shutdown.
package gputest

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"triton/pkg/gpu"
	"triton/pkg/gpu/nvml"
)

// MiB and GiB are sizes of memory in bytes.
const (
	MiB = 1 << 20
	GiB = 1 << 30
)

// GPU describes a simulated GPU. The zero value of a field is the value in its comment.
type GPU struct {
	Name     string // Simulated A100-SXM4-40GB
	UUID     string // from the position of the GPU
	Total    uint64 // 40 GiB
	Reserved uint64 // the driver's own part
	Major    int    // 8, with Minor 0: the compute capability
	Minor    int
	// Foreign are processes of others. A process without memory counts as one of unknown
	// memory.
	Foreign        []Process
	ComputeMode    nvml.ComputeMode
	Virtualization nvml.Virtualization
	// Accounting records the memory peaks of processes that start from now on.
	Accounting bool
	MIG        *MIG // nil: the GPU knows no MIG
	View       Visibility
}

// Process is a process of others on a device.
type Process struct {
	PID    int
	Name   string
	Memory uint64
	Kinds  []nvml.ProcessKind // the lists that it is in; none: Compute
	// Instance is the UUID of the MIG instance that it runs on.
	Instance string
}

// MIG is how a GPU is divided.
type MIG struct {
	Disabled bool // the GPU could be divided but is not
	Pending  bool // the mode changes with the next reset
	// Instances have the index of their position; those without a UUID are gaps.
	Instances []Instance
	// Profiles are the kinds of GPU instances by their number; nil: those of an A100 with
	// 40 GB.
	Profiles map[int]nvml.InstanceProfile
	// Hidden makes memory and processes of the whole GPU unreadable for want of permission.
	Hidden bool
}

// Instance is a MIG device. Instances with the same GPUInstance have the same memory.
type Instance struct {
	UUID                         string
	GPUInstance, ComputeInstance int
	MemoryMB                     uint64
	Slices, ComputeSlices        int // of the GPU instance, and of this part of it
	Multiprocessors              int
	Reserved                     uint64
}

// Visibility is what the driver shows.
type Visibility struct {
	NoMemoryV2 bool // an old driver: the memory in use contains the reserve
	// UsedContainsReserve makes the newer form count it in Used too, as some drivers do.
	UsedContainsReserve bool
	Processes           ProcessView
	// PIDOffset is added to all PIDs: those of another namespace.
	PIDOffset int
	// Noise is how far readings of memory are off at most, to both sides.
	Noise uint64
	// Delay is how long an allocation takes to become visible; it does so in four steps.
	Delay time.Duration
}

// ProcessView is what the driver shows of the memory of processes.
type ProcessView int

// The ways in which drivers show it.
const (
	ProcessesShown   ProcessView = iota
	ProcessesZero                // as 0
	ProcessesAllOnes             // as unknown
	ProcessesDenied              // no list at all, for want of permission
)

// Simulator is a machine with GPUs. It implements nvml.Library.
type Simulator struct {
	now func() time.Time

	mu       sync.Mutex
	random   *rand.Rand
	started  int // Init less Shutdown
	gpus     []*device
	failures map[string]*failure
	counts   map[string]int
	names    map[int]string
}

var _ nvml.Library = (*Simulator)(nil)

// New returns a machine with GPUs. The seed decides all random values.
func New(seed uint64, gpus ...GPU) *Simulator {
	s := &Simulator{
		now: time.Now, random: rand.New(rand.NewPCG(seed, 0)),
		failures: map[string]*failure{}, counts: map[string]int{}, names: map[int]string{},
	}
	for i, g := range gpus {
		s.gpus = append(s.gpus, s.newDevice(i, g))
	}
	return s
}

// Open returns the view of the machine's GPUs for a process that sees all of them.
func (s *Simulator) Open() (*gpu.Machine, error) { return gpu.New(s, gpu.Environment{}) }

// failure is a scripted failure of a call.
type failure struct {
	ret  nvml.Return
	left int // -1: forever
}

// Fail makes the next calls of a method of nvml.Library or nvml.Device fail on all devices;
// times -1 is forever. The list of names is Calls.
func (s *Simulator) Fail(call string, ret nvml.Return, times int) { s.FailOn("", call, ret, times) }

// FailOn is Fail for the device with a UUID.
func (s *Simulator) FailOn(uuid, call string, ret nvml.Return, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures[uuid+"\x00"+call] = &failure{ret, times}
}

// Count returns how many times a method was called.
func (s *Simulator) Count(call string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[call]
}

// Calls returns the names of all methods that can fail.
func Calls() []string {
	return []string{
		"Init", "Shutdown", "DriverVersion", "NVMLVersion", "CUDAVersion", "DeviceCount", "Device", "ProcessName",
		"UUID", "Name", "PCI", "Capability", "ComputeMode", "Persistence", "Virtualization", "MemoryV2", "Memory", "BAR1",
		"Processes", "Utilization", "Power", "PowerLimit", "Energy", "Accounting", "AccountingPIDs", "AccountingStats",
		"MIGMode", "MaxMIGDevices", "MIGDevice", "InstanceProfile", "GPUInstance", "ComputeInstance", "Attributes",
	}
}

// enter counts a call and returns its scripted failure. The caller holds s.mu.
func (s *Simulator) enter(uuid, call string) nvml.Return {
	s.counts[call]++
	if s.started <= 0 && call != "Init" {
		panic(fmt.Sprintf("gputest: %s without Init: the real library would end the program", call))
	}
	for _, key := range []string{uuid + "\x00" + call, "\x00" + call} {
		if f := s.failures[key]; f != nil && f.left != 0 {
			f.left = max(f.left-1, -1)
			return f.ret
		}
	}
	return nvml.Success
}

// answer returns the failure of a call, or its value.
func answer[T any](s *Simulator, uuid, call string, value func() (T, nvml.Return)) (T, nvml.Return) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ret := s.enter(uuid, call); ret != nvml.Success {
		var none T
		return none, ret
	}
	return value()
}

// fixed is answer for a value that is always the same.
func fixed[T any](s *Simulator, uuid, call string, v T) (T, nvml.Return) {
	return answer(s, uuid, call, func() (T, nvml.Return) { return v, nvml.Success })
}
