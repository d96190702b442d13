package gpu

import (
	"fmt"
	"slices"

	"triton/pkg/gpu/nvml"
)

// Machine is the GPUs of this machine.
type Machine struct {
	lib     nvml.Library
	devices []Device // those that CUDA shows
	gpus    []*gpu   // all that this user may open, in the order of NVML
	// unreadable says of each GPU that cannot be opened why.
	unreadable []string
}

var _ View = (*Machine)(nil)

// gpu is a GPU as NVML lists it, and its MIG devices.
type gpu struct {
	physicalGPU
	index   int // of NVML
	handle  *handle
	pending bool // the MIG mode after the next reset
	hasMIG  bool
	devices []*handle // of its instances, by position in physicalGPU.instances
}

// Open starts NVML. It returns ErrNoDriver if there is none. e is the environment of
// the process that uses the GPUs.
func Open(e Environment) (*Machine, error) {
	lib, err := nvml.Load()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	return New(lib, e)
}

// New is Open over any NVML, for tests.
func New(lib nvml.Library, e Environment) (*Machine, error) {
	switch ret := lib.Init(); ret {
	case nvml.Success:
	case nvml.LibraryNotFound, nvml.DriverNotLoaded, nvml.VersionMismatch:
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, ret)
	default:
		return nil, fmt.Errorf("%w: start NVML: %w", ErrNoDriver, ret)
	}
	m := &Machine{lib: lib}
	if err := m.enumerate(e); err != nil {
		_ = lib.Shutdown()
		return nil, err
	}
	return m, nil
}

// enumerate lists the GPUs and selects those that CUDA shows.
func (m *Machine) enumerate(e Environment) error {
	n, ret := once(m.lib.DeviceCount)
	if ret != nvml.Success {
		return fmt.Errorf("count GPUs: %w", ret)
	}
	for i := range n {
		g, err := m.open(i)
		if err != nil {
			m.unreadable = append(m.unreadable, err.Error())
			if e.Warn != nil {
				e.Warn(err.Error())
			}
			continue
		}
		m.gpus = append(m.gpus, g)
	}
	all := make([]physicalGPU, len(m.gpus))
	for i, g := range m.gpus {
		all[i] = g.physicalGPU
	}
	for ordinal, s := range e.table(all) {
		if s.index < 0 {
			continue // known to CUDA, but NVML does not show it to this user
		}
		g := all[s.index]
		m.devices = append(m.devices, Device{Index: ordinal, UUID: g.UUID, Name: g.name, Capability: g.capability, Instance: s.instance})
	}
	return nil
}

// open opens a GPU. One without a UUID cannot be told from others and is left out.
func (m *Machine) open(index int) (*gpu, error) {
	d, ret := once(func() (nvml.Device, nvml.Return) { return m.lib.Device(index) })
	if ret != nvml.Success {
		return nil, fmt.Errorf("open GPU %d: %w", index, ret)
	}
	g := &gpu{index: index, handle: &handle{dev: d}}
	if g.UUID, ret = once(d.UUID); ret != nvml.Success {
		return nil, fmt.Errorf("read the UUID of GPU %d: %w", index, ret)
	}
	g.name = known(d.Name).Value
	if major, minor, ret := d.Capability(); ret == nvml.Success {
		g.capability = fmt.Sprintf("%d.%d", major, minor)
	}
	if at := known(d.PCI); at.Known {
		g.PCI = fmt.Sprintf("%04x:%02x:%02x.0", at.Value.Domain, at.Value.Bus, at.Value.Device)
	}
	g.readMIG(d)
	return g, nil
}

// Devices returns the GPUs that CUDA shows to this process.
func (m *Machine) Devices() []Device { return slices.Clone(m.devices) }

// find returns the GPU or MIG device with a UUID.
func (m *Machine) find(uuid string) *handle {
	for _, g := range m.gpus {
		if g.UUID == uuid {
			return g.handle
		}
		for i, one := range g.instances {
			if one.uuid == uuid || one.path == uuid {
				return g.devices[i]
			}
		}
	}
	return nil
}

// Close stops NVML. Nothing else may be called afterwards.
func (m *Machine) Close() error {
	if ret := m.lib.Shutdown(); ret != nvml.Success {
		return fmt.Errorf("stop NVML: %w", ret)
	}
	return nil
}
