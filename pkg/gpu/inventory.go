package gpu

import (
	"errors"
	"fmt"
	"slices"

	"triton/pkg/gpu/nvml"
)

// Inventory is all that is known about the GPUs of a machine at one moment.
type Inventory struct {
	Driver string `json:"driver,omitempty"`
	NVML   string `json:"nvml,omitempty"`
	CUDA   string `json:"cuda,omitempty"` // the newest version that the driver supports
	// GPUs are in the order of NVML and nvidia-smi, those that CUDA does not show to this
	// process among them.
	GPUs []GPU `json:"gpus"`
	// Unreadable says of each GPU that could not be opened why.
	Unreadable []string `json:"unreadable,omitempty"`
}

// GPU is one GPU of an inventory.
type GPU struct {
	Index          int            `json:"index"` // of NVML and nvidia-smi
	Ordinal        Optional[int]  `json:"ordinal,omitzero"`
	UUID           string         `json:"uuid"`
	Name           string         `json:"name,omitempty"`
	PCI            string         `json:"pci,omitempty"`
	Capability     string         `json:"capability,omitempty"`
	ComputeMode    string         `json:"compute_mode,omitempty"`
	Virtualization string         `json:"virtualization,omitempty"`
	Persistence    Optional[bool] `json:"persistence,omitzero"`
	Reading        Reading        `json:"reading"`
	Processes      []Process      `json:"processes,omitempty"`
	MIG            MIG            `json:"mig,omitzero"`
	Sources        []Source       `json:"sources"`
}

// MIG is how a GPU is divided.
type MIG struct {
	Supported bool `json:"supported"`
	Enabled   bool `json:"enabled"`
	// Pending is the mode after the next reset. While it differs from Enabled nothing can be
	// said about later.
	Pending   bool       `json:"pending"`
	Instances []Instance `json:"instances,omitempty"`
	Profiles  []Profile  `json:"profiles,omitempty"`
}

// Instance is a MIG device: a compute instance of a GPU instance.
type Instance struct {
	UUID            string        `json:"uuid"`
	Path            string        `json:"path,omitempty"` // the older form of its name
	Ordinal         Optional[int] `json:"ordinal,omitzero"`
	Profile         string        `json:"profile,omitempty"`
	GPUInstance     int           `json:"gpu_instance"` // -1: not known, as is ComputeInstance
	ComputeInstance int           `json:"compute_instance"`
	Multiprocessors int           `json:"multiprocessors,omitempty"`
	Reading         Reading       `json:"reading"`
	// SharesMemory are the UUIDs of the other instances in the same GPU instance: they
	// have the same memory.
	SharesMemory []string  `json:"shares_memory,omitempty"`
	Processes    []Process `json:"processes,omitempty"`
	Sources      []Source  `json:"sources"`
}

// Inventory reads all GPUs.
func (m *Machine) Inventory() Inventory {
	v := Inventory{
		Driver: known(m.lib.DriverVersion).Value, NVML: known(m.lib.NVMLVersion).Value,
		GPUs: []GPU{}, Unreadable: slices.Clone(m.unreadable),
	}
	if n := known(m.lib.CUDAVersion); n.Known {
		v.CUDA = fmt.Sprintf("%d.%d", n.Value/1000, n.Value%1000/10)
	}
	for _, g := range m.gpus {
		v.GPUs = append(v.GPUs, m.gpu(g))
	}
	return v
}

func (m *Machine) gpu(g *gpu) GPU {
	d := g.handle.dev
	out := GPU{
		Index: g.index, Ordinal: m.ordinal(func(d Device) bool { return d.UUID == g.UUID }),
		UUID: g.UUID, Name: g.name, PCI: g.PCI, Capability: g.capability,
		Persistence: known(d.Persistence), Reading: g.handle.read(),
	}
	if mode := known(d.ComputeMode); mode.Known {
		out.ComputeMode = name([]string{"default", "exclusive thread", "prohibited", "exclusive process"}, int(mode.Value))
	}
	if mode := known(d.Virtualization); mode.Known {
		out.Virtualization = name([]string{"none", "pass-through", "vGPU", "host vGPU", "host vSGA"}, int(mode.Value))
	}
	out.Processes, out.Sources = m.sources(g.handle)
	out.MIG = MIG{Supported: g.hasMIG, Enabled: g.migMode, Pending: g.pending}
	if g.hasMIG {
		out.MIG.Profiles = profiles(d, out.Reading.MemoryTotal.Value)
	}
	for i := range g.devices {
		out.MIG.Instances = append(out.MIG.Instances, m.instance(g, i, out.Reading.MemoryTotal.Value))
	}
	return out
}

func (m *Machine) instance(g *gpu, i int, total uint64) Instance {
	h, one := g.devices[i], g.instances[i]
	out := Instance{
		UUID: one.uuid, Path: one.path, GPUInstance: h.gpuInstance, ComputeInstance: h.computeInstance,
		Ordinal: m.ordinal(func(d Device) bool { return d.Instance == one.uuid }), Reading: h.read(),
	}
	if a := known(h.dev.Attributes); a.Known {
		out.Multiprocessors = int(a.Value.Multiprocessors)
		out.Profile = profileName(total, int(a.Value.GPUSlices), a.Value.MemoryMB)
		if c := a.Value.ComputeSlices; c < a.Value.GPUSlices && c > 0 {
			out.Profile = fmt.Sprintf("%dc.%s", c, out.Profile)
		}
	}
	for k, other := range g.devices {
		if k != i && h.gpuInstance != unknownInstance && other.gpuInstance == h.gpuInstance {
			out.SharesMemory = append(out.SharesMemory, g.instances[k].uuid)
		}
	}
	out.Processes, out.Sources = m.sources(h)
	return out
}

// ordinal returns the CUDA ordinal of a device that CUDA shows to this process.
func (m *Machine) ordinal(is func(Device) bool) Optional[int] {
	if i := slices.IndexFunc(m.devices, is); i >= 0 {
		return Some(m.devices[i].Index)
	}
	return Optional[int]{}
}

func name(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return fmt.Sprintf("mode %d", i)
	}
	return names[i]
}

// Source is a way of reading a device, and whether it works there.
type Source struct {
	Name  string `json:"name"`
	Works bool   `json:"works"`
	// Reason is why it does not work, or what to know where it does.
	Reason string `json:"reason,omitempty"`
}

// sources tries all readings of a device.
func (m *Machine) sources(h *handle) ([]Process, []Source) {
	procs, ret := h.processes()
	for i := range procs {
		procs[i].Name = known(func() (string, nvml.Return) { return m.lib.ProcessName(procs[i].PID) }).Value
	}
	return procs, []Source{
		source("accounting", h.accounting()),
		processSource(procs, ret),
		memorySource(h),
		tried("bar1", h, bar1Call, nvml.Device.BAR1),
		tried("utilization", h, utilizationCall, nvml.Device.Utilization),
		tried("power", h, powerCall, nvml.Device.Power),
		tried("energy", h, energyCall, nvml.Device.Energy),
	}
}

func source(name string, err error) Source {
	if err != nil {
		return Source{Name: name, Reason: err.Error()}
	}
	return Source{Name: name, Works: true}
}

func tried[T any](name string, h *handle, c call, do func(nvml.Device) (T, nvml.Return)) Source {
	if _, ret := ask(h, c, do); ret != nvml.Success {
		return source(name, ret)
	}
	return source(name, nil)
}

func processSource(procs []Process, ret nvml.Return) Source {
	hidden := func(p Process) bool { return !p.Memory.Known }
	switch {
	case ret != nvml.Success:
		return source("processes", ret)
	case len(procs) == 0:
		return Source{"processes", true, "no process to check it with"}
	case slices.ContainsFunc(procs, func(p Process) bool { return !hidden(p) }):
		return source("processes", nil)
	}
	return source("processes", errors.New("the driver does not tell the memory of processes, as in some containers"))
}

// memorySource tells the two forms of the device's memory apart.
func memorySource(h *handle) Source {
	const what = "device memory"
	_, ret := ask(h, memoryV2Call, nvml.Device.MemoryV2)
	if ret == nvml.Success {
		return source(what, nil)
	}
	s := tried(what, h, memoryCall, nvml.Device.Memory)
	if s.Works {
		s.Reason = "older form: the memory in use contains the driver's reserve"
	}
	return s
}
