package gpu

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sort"
	"strings"

	"triton/pkg/gpu/nvml"
)

// Use is what a process uses a device for: a set.
type Use uint8

// The uses.
const (
	UseCompute  Use = 1 << iota // CUDA
	UseMPS                      // CUDA through the Multi-Process Service
	UseGraphics                 // of displays
)

// String returns the letters that nvidia-smi shows: C, M (a client of MPS), G.
func (u Use) String() string {
	var b strings.Builder
	for i, letter := range []byte("CMG") {
		if u&(1<<i) != 0 {
			b.WriteByte(letter)
		}
	}
	return b.String()
}

// MarshalText writes the letters.
func (u Use) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// Processes returns the processes on a GPU or in a MIG instance, sorted by PID. A process
// that is in several of the driver's lists is returned once. It is an error if the list of
// CUDA's processes cannot be read; without the other lists they are missing.
func (m *Machine) Processes(d Device) ([]Process, error) {
	h := m.find(d.UUID)
	if h == nil {
		return nil, fmt.Errorf("list processes: no GPU has UUID %q", d.UUID)
	}
	all, ret := h.processes()
	if ret != nvml.Success {
		return nil, fmt.Errorf("list processes of GPU %s: %w", d.UUID, ret)
	}
	return all, nil
}

func (h *handle) processes() ([]Process, nvml.Return) {
	compute, ret := ask(h, computeCall, func(d nvml.Device) ([]nvml.Process, nvml.Return) { return d.Processes(nvml.Compute) })
	if ret != nvml.Success {
		return nil, ret
	}
	mps, _ := ask(h, mpsCall, func(d nvml.Device) ([]nvml.Process, nvml.Return) { return d.Processes(nvml.MPS) })
	graphics, _ := ask(h, graphicsCall, func(d nvml.Device) ([]nvml.Process, nvml.Return) { return d.Processes(nvml.Graphics) })
	var all []Process
	for i, list := range [][]nvml.Process{compute, mps, graphics} {
		for _, p := range list {
			if h.holds(p) {
				all = merge(all, p, Use(1<<i))
			}
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].PID < all[j].PID })
	return all, nvml.Success
}

// holds reports whether a process of the list belongs to this device: a MIG device may list
// those of its neighbors.
func (h *handle) holds(p nvml.Process) bool {
	return !h.isMIG ||
		(p.GPUInstance == nvml.NoInstance || h.gpuInstance == unknownInstance || int(p.GPUInstance) == h.gpuInstance) &&
			(p.ComputeInstance == nvml.NoInstance || h.computeInstance == unknownInstance || int(p.ComputeInstance) == h.computeInstance)
}

// merge adds an entry to the processes. The lists of one GPU repeat a process with the same
// memory; the instances of a GPU in MIG mode have a part each.
func merge(all []Process, p nvml.Process, use Use) []Process {
	memory := Optional[uint64]{}
	// In containers some drivers return zero for unknown, others all ones.
	if p.Memory != 0 && p.Memory != math.MaxUint64 {
		memory = Some(p.Memory)
	}
	for i := range all {
		if all[i].PID != int(p.PID) {
			continue
		}
		if all[i].Use&use != 0 && memory.Known { // the same list: another instance
			all[i].Memory = Some(all[i].Memory.Value + memory.Value)
		} else if memory.Value > all[i].Memory.Value {
			all[i].Memory = memory
		}
		all[i].Use |= use
		return all
	}
	return append(all, Process{PID: int(p.PID), Memory: memory, Use: use})
}

// errAccountingOff reports that the driver records no peaks.
var errAccountingOff = errors.New("accounting is off; an administrator can turn it on with: nvidia-smi --accounting-mode=1")

// Peak returns the most memory that a process has had on a device since it started, as the
// driver's accounting recorded it. It is an error if accounting is off or the process
// started before it was turned on.
func (m *Machine) Peak(d Device, pid int) (uint64, error) {
	h := m.find(d.UUID)
	if h == nil {
		return 0, fmt.Errorf("read the memory peak of process %d: no GPU has UUID %q", pid, d.UUID)
	}
	if err := h.accounting(); err != nil {
		return 0, fmt.Errorf("read the memory peak of process %d: %w", pid, err)
	}
	s, ret := once(func() (nvml.AccountingStats, nvml.Return) { return h.dev.AccountingStats(pid) })
	if ret != nvml.Success || s.MaxMemory == math.MaxUint64 {
		return 0, fmt.Errorf("read the memory peak of process %d: %w", pid, cmp.Or(ret, nvml.NoData))
	}
	return s.MaxMemory, nil
}

// accounting returns why a device records no peaks; nil if it does.
func (h *handle) accounting() error {
	if h.isMIG {
		return errors.New("MIG instances have no accounting")
	}
	on, ret := ask(h, accountingCall, nvml.Device.Accounting)
	switch {
	case ret != nvml.Success:
		return ret
	case !on:
		return errAccountingOff
	}
	return nil
}
