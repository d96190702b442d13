package gputest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"triton/pkg/gpu/nvml"
)

// device is a GPU, or a MIG device of one. It implements nvml.Device.
type device struct {
	s     *Simulator
	index int
	uuid  string
	spec  GPU
	pool  *pool // its memory; the MIG devices of a GPU instance have one in common

	instance  *Instance // nil: a whole GPU
	instances []*device // by index; nil: a gap
}

var _ nvml.Device = (*device)(nil)

// pool is memory that devices have in common.
type pool struct {
	total, reserved uint64
	allocations     []*allocation
	lost            uint64 // leaked by servers that ended
}

func (s *Simulator) newDevice(i int, g GPU) *device {
	g.Name = cmp.Or(g.Name, "Simulated A100-SXM4-40GB")
	g.UUID = cmp.Or(g.UUID, fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i))
	g.Total = cmp.Or(g.Total, 40*GiB)
	g.Major = cmp.Or(g.Major, 8)
	d := &device{s: s, index: i, uuid: g.UUID, spec: g, pool: &pool{total: g.Total, reserved: g.Reserved}}
	if g.MIG != nil {
		d.divide()
	}
	for _, p := range g.Foreign {
		s.names[p.PID+g.View.PIDOffset] = p.Name
		on := d.on(p.Instance)
		on.pool.allocations = append(on.pool.allocations, &allocation{
			pid: p.PID, kinds: p.Kinds, on: on, foreign: true, steady: p.Memory, peak: p.Memory, unknown: p.Memory == 0,
		})
	}
	return d
}

// divide makes the MIG devices of a GPU.
func (d *device) divide() {
	pools := map[int]*pool{}
	for i := range d.spec.MIG.Instances {
		one := &d.spec.MIG.Instances[i]
		if one.UUID == "" {
			d.instances = append(d.instances, nil)
			continue
		}
		if pools[one.GPUInstance] == nil {
			pools[one.GPUInstance] = &pool{total: one.MemoryMB * MiB, reserved: one.Reserved}
		}
		d.instances = append(d.instances, &device{
			s: d.s, index: i, uuid: one.UUID, spec: d.spec, pool: pools[one.GPUInstance], instance: one,
		})
	}
}

// on returns the MIG device with a UUID, or the GPU itself if there is none.
func (d *device) on(uuid string) *device {
	for _, m := range d.instances {
		if m != nil && m.uuid == uuid {
			return m
		}
	}
	return d
}

// UUID implements nvml.Device.
func (d *device) UUID() (string, nvml.Return) { return fixed(d.s, d.uuid, "UUID", d.uuid) }

// Name implements nvml.Device.
func (d *device) Name() (string, nvml.Return) { return fixed(d.s, d.uuid, "Name", d.spec.Name) }

// PCI implements nvml.Device.
func (d *device) PCI() (nvml.PCI, nvml.Return) {
	return fixed(d.s, d.uuid, "PCI", nvml.PCI{Bus: uint32(d.index + 1)})
}

// Capability implements nvml.Device.
func (d *device) Capability() (major, minor int, ret nvml.Return) {
	v, ret := fixed(d.s, d.uuid, "Capability", [2]int{d.spec.Major, d.spec.Minor})
	return v[0], v[1], ret
}

// ComputeMode implements nvml.Device.
func (d *device) ComputeMode() (nvml.ComputeMode, nvml.Return) {
	return fixed(d.s, d.uuid, "ComputeMode", d.spec.ComputeMode)
}

// Persistence implements nvml.Device.
func (d *device) Persistence() (bool, nvml.Return) { return fixed(d.s, d.uuid, "Persistence", true) }

// Virtualization implements nvml.Device.
func (d *device) Virtualization() (nvml.Virtualization, nvml.Return) {
	return fixed(d.s, d.uuid, "Virtualization", d.spec.Virtualization)
}

// hidden reports whether memory and processes are those of a GPU whose instances alone may be
// read.
func (d *device) hidden() bool {
	return d.instance == nil && d.spec.MIG != nil && !d.spec.MIG.Disabled && d.spec.MIG.Hidden
}

// pools returns the memory of a device: that of a GPU in MIG mode is in its instances.
func (d *device) pools() []*pool {
	all := []*pool{d.pool}
	for _, m := range d.instances {
		if m != nil && !slices.Contains(all, m.pool) {
			all = append(all, m.pool)
		}
	}
	return all
}

// memory returns the memory of a device as the driver shows it. The caller holds s.mu.
func (d *device) memory() (nvml.MemoryV2, nvml.Return) {
	if d.hidden() {
		return nvml.MemoryV2{}, nvml.NoPermission
	}
	used := uint64(0)
	for _, p := range d.pools() {
		used += p.visible(d.s.now())
	}
	used = d.s.disturb(used, d.spec.View.Noise)
	room := d.pool.total - min(d.pool.reserved, d.pool.total)
	used = min(used, room)
	m := nvml.MemoryV2{Total: d.pool.total, Reserved: d.pool.reserved, Free: room - used, Used: used}
	if d.spec.View.UsedContainsReserve {
		m.Used += m.Reserved
	}
	return m, nvml.Success
}

// disturb returns a value with noise.
func (s *Simulator) disturb(v, noise uint64) uint64 {
	if noise == 0 {
		return v
	}
	v += s.random.Uint64N(2*noise + 1)
	return v - min(v, noise)
}

// MemoryV2 implements nvml.Device.
func (d *device) MemoryV2() (nvml.MemoryV2, nvml.Return) {
	return answer(d.s, d.uuid, "MemoryV2", func() (nvml.MemoryV2, nvml.Return) {
		if d.spec.View.NoMemoryV2 {
			return nvml.MemoryV2{}, nvml.FunctionNotFound
		}
		return d.memory()
	})
}

// Memory implements nvml.Device.
func (d *device) Memory() (nvml.Memory, nvml.Return) {
	return answer(d.s, d.uuid, "Memory", func() (nvml.Memory, nvml.Return) {
		m, ret := d.memory()
		return nvml.Memory{Total: m.Total, Free: m.Free, Used: m.Total - m.Free}, ret
	})
}

// BAR1 implements nvml.Device.
func (d *device) BAR1() (nvml.Memory, nvml.Return) {
	return answer(d.s, d.uuid, "BAR1", func() (nvml.Memory, nvml.Return) {
		if d.instance != nil {
			return nvml.Memory{}, nvml.NotSupported
		}
		return nvml.Memory{Total: 64 * GiB, Free: 64*GiB - MiB, Used: MiB}, nvml.Success
	})
}

// onWhole is a value that MIG devices, and GPUs in MIG mode, do not have.
func onWhole[T any](d *device, call string, v T) (T, nvml.Return) {
	return answer(d.s, d.uuid, call, func() (T, nvml.Return) {
		if d.instance != nil || d.spec.MIG != nil && !d.spec.MIG.Disabled {
			var none T
			return none, nvml.NotSupported
		}
		return v, nvml.Success
	})
}

// Utilization implements nvml.Device: 100 while a server of the device runs, else 0.
func (d *device) Utilization() (nvml.Utilization, nvml.Return) {
	d.s.mu.Lock()
	var u nvml.Utilization
	for _, a := range d.pool.allocations {
		if len(a.runs) > 0 {
			u = nvml.Utilization{GPU: 100, Memory: 50}
		}
	}
	d.s.mu.Unlock()
	return onWhole(d, "Utilization", u)
}

// Power implements nvml.Device.
func (d *device) Power() (milliwatts uint32, ret nvml.Return) {
	return fixed[uint32](d.s, d.uuid, "Power", 250_500)
}

// PowerLimit implements nvml.Device.
func (d *device) PowerLimit() (milliwatts uint32, ret nvml.Return) {
	return fixed[uint32](d.s, d.uuid, "PowerLimit", 400_000)
}

// Energy implements nvml.Device.
func (d *device) Energy() (millijoules uint64, ret nvml.Return) {
	return fixed[uint64](d.s, d.uuid, "Energy", 1_234_500)
}

// Accounting implements nvml.Device.
func (d *device) Accounting() (on bool, ret nvml.Return) {
	return onWhole(d, "Accounting", d.spec.Accounting)
}

// Processes implements nvml.Device.
func (d *device) Processes(kind nvml.ProcessKind) ([]nvml.Process, nvml.Return) {
	return answer(d.s, d.uuid, "Processes", func() ([]nvml.Process, nvml.Return) {
		if d.hidden() || d.spec.View.Processes == ProcessesDenied {
			return nil, nvml.NoPermission
		}
		var all []nvml.Process
		for _, p := range d.pools() {
			for _, a := range p.allocations {
				if a.listed(kind) {
					all = append(all, d.process(a))
				}
			}
		}
		return all, nvml.Success
	})
}

// process returns a process as the driver shows it.
func (d *device) process(a *allocation) nvml.Process {
	p := nvml.Process{
		PID: uint32(a.pid + d.spec.View.PIDOffset), Memory: a.visible(d.s.now()),
		GPUInstance: nvml.NoInstance, ComputeInstance: nvml.NoInstance,
	}
	if one := a.on.instance; one != nil {
		p.GPUInstance, p.ComputeInstance = uint32(one.GPUInstance), uint32(one.ComputeInstance)
	}
	switch {
	case d.spec.View.Processes == ProcessesZero:
		p.Memory = 0
	case d.spec.View.Processes == ProcessesAllOnes || a.unknown:
		p.Memory = math.MaxUint64
	}
	return p
}

// AccountingPIDs implements nvml.Device.
func (d *device) AccountingPIDs() ([]int, nvml.Return) {
	return answer(d.s, d.uuid, "AccountingPIDs", func() ([]int, nvml.Return) {
		var all []int
		for _, a := range d.pool.allocations {
			if a.accounted() {
				all = append(all, a.pid+d.spec.View.PIDOffset)
			}
		}
		return all, nvml.Success
	})
}

// AccountingStats implements nvml.Device.
func (d *device) AccountingStats(pid int) (nvml.AccountingStats, nvml.Return) {
	return answer(d.s, d.uuid, "AccountingStats", func() (nvml.AccountingStats, nvml.Return) {
		for _, a := range slices.Backward(d.pool.allocations) { // a PID may have been used before
			if a.accounted() && a.pid+d.spec.View.PIDOffset == pid {
				return nvml.AccountingStats{MaxMemory: a.peak, Running: !a.ended}, nvml.Success
			}
		}
		return nvml.AccountingStats{}, nvml.NotFound
	})
}
