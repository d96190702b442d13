//go:build linux && cgo

package gpu

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Open starts NVML. It returns ErrNoDriver if there is none. e is the environment of
// the process that uses the GPUs.
func Open(e Environment) (View, error) { return open(nvml.New(), e) }

// view implements View over NVML. NVML itself is safe for concurrent use.
type view struct {
	lib     nvml.Interface
	devices []Device
	handles []nvml.Device // by position in devices
	// Whether the driver has functions that older ones lack; calling a missing
	// function would end the program.
	hasMemoryV2, hasEnergy, hasMIG bool
}

var _ View = (*view)(nil)

// open is Open over any implementation of NVML. No other call may precede a successful
// Init.
func open(lib nvml.Interface, e Environment) (View, error) {
	switch ret := lib.Init(); ret {
	case nvml.SUCCESS:
	case nvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, fmt.Errorf("%w: libnvidia-ml.so.1 was not found", ErrNoDriver)
	case nvml.ERROR_DRIVER_NOT_LOADED:
		return nil, fmt.Errorf("%w: NVML is installed, but the kernel driver is not loaded", ErrNoDriver)
	case nvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return nil, fmt.Errorf("%w: NVML and the kernel driver have different versions; reload the driver", ErrNoDriver)
	default:
		return nil, fmt.Errorf("%w: start NVML: %w", ErrNoDriver, ret)
	}
	v := &view{lib: lib}
	v.hasMemoryV2 = lib.Extensions().LookupSymbol("nvmlDeviceGetMemoryInfo_v2") == nil
	v.hasMIG = lib.Extensions().LookupSymbol("nvmlDeviceGetMigMode") == nil
	v.hasEnergy = lib.Extensions().LookupSymbol("nvmlDeviceGetTotalEnergyConsumption") == nil
	if err := v.enumerate(e); err != nil {
		_ = lib.Shutdown()
		return nil, err
	}
	return v, nil
}

// enumerate lists the visible devices.
func (v *view) enumerate(e Environment) error {
	all, handles, err := v.physicalGPUs()
	if err != nil {
		return err
	}
	for ordinal, i := range e.table(all) {
		if i < 0 {
			continue // known to CUDA, but NVML does not show it to this user
		}
		v.devices = append(v.devices, Device{Index: ordinal, UUID: all[i].UUID, Name: all[i].name, Capability: all[i].capability})
		v.handles = append(v.handles, handles[i])
	}
	return nil
}

// physicalGPUs returns the GPUs of the machine, without those that this user may not open.
func (v *view) physicalGPUs() (all []physicalGPU, handles []nvml.Device, err error) {
	n, ret := v.lib.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return nil, nil, fmt.Errorf("count GPUs: %w", ret)
	}
	for i := range n {
		h, ret := v.lib.DeviceGetHandleByIndex(i)
		if ret == nvml.ERROR_NO_PERMISSION {
			continue
		}
		if ret != nvml.SUCCESS {
			return nil, nil, fmt.Errorf("open GPU %d: %w", i, ret)
		}
		var p physicalGPU
		if p.UUID, ret = h.GetUUID(); ret != nvml.SUCCESS {
			return nil, nil, fmt.Errorf("read UUID of GPU %d: %w", i, ret)
		}
		if p.name, ret = h.GetName(); ret != nvml.SUCCESS {
			p.name = ""
		}
		if major, minor, ret := h.GetCudaComputeCapability(); ret == nvml.SUCCESS {
			p.capability = fmt.Sprintf("%d.%d", major, minor)
		}
		if at, ret := h.GetPciInfo(); ret == nvml.SUCCESS {
			p.PCI = fmt.Sprintf("%04x:%02x:%02x.0", at.Domain, at.Bus, at.Device)
		}
		if p.migMode = v.inMIGMode(h); p.migMode {
			p.instances = migInstances(h, p.UUID)
		}
		all, handles = append(all, p), append(handles, h)
	}
	return all, handles, nil
}

// inMIGMode reports whether a GPU is in MIG mode.
func (v *view) inMIGMode(h nvml.Device) bool {
	if !v.hasMIG {
		return false
	}
	now, _, ret := h.GetMigMode()
	return ret == nvml.SUCCESS && now == nvml.DEVICE_MIG_ENABLE
}

// migInstances returns the MIG instances of a GPU.
func migInstances(h nvml.Device, gpu string) []migInstance {
	most, ret := h.GetMaxMigDeviceCount()
	if ret != nvml.SUCCESS {
		return nil
	}
	var all []migInstance
	for i := range most {
		m, ret := h.GetMigDeviceHandleByIndex(i)
		if ret != nvml.SUCCESS {
			continue // instances need not be numbered without gaps
		}
		uuid, ret := m.GetUUID()
		if ret != nvml.SUCCESS {
			continue
		}
		one := migInstance{uuid: uuid}
		g, ret := m.GetGpuInstanceId()
		c, ret2 := m.GetComputeInstanceId()
		if ret == nvml.SUCCESS && ret2 == nvml.SUCCESS {
			one.path = fmt.Sprintf("MIG-%s/%d/%d", gpu, g, c)
		}
		all = append(all, one)
	}
	return all
}

func (v *view) Devices() []Device { return slices.Clone(v.devices) }

func (v *view) handle(d Device) (nvml.Device, bool) {
	i := slices.IndexFunc(v.devices, func(o Device) bool { return o.UUID == d.UUID })
	if i < 0 {
		return nil, false
	}
	return v.handles[i], true
}

func (v *view) Read(d Device) Reading {
	var r Reading
	h, ok := v.handle(d)
	if !ok {
		return r
	}
	v.readMemory(h, &r)
	if u, ret := h.GetUtilizationRates(); ret == nvml.SUCCESS {
		r.Utilization = Some(float64(u.Gpu) / 100)
	}
	if mw, ret := h.GetPowerUsage(); ret == nvml.SUCCESS {
		r.Power = Some(float64(mw) / 1000)
	}
	if mw, ret := h.GetEnforcedPowerLimit(); ret == nvml.SUCCESS {
		r.PowerLimit = Some(float64(mw) / 1000)
	}
	if v.hasEnergy {
		if mj, ret := h.GetTotalEnergyConsumption(); ret == nvml.SUCCESS {
			r.Energy = Some(float64(mj) / 1000)
		}
	}
	return r
}

// readMemory prefers the second form, which reports the driver's own memory separately.
// Drivers disagree whether its Used contains that, so Used is computed.
func (v *view) readMemory(h nvml.Device, r *Reading) {
	if v.hasMemoryV2 {
		if m, ret := h.GetMemoryInfo_v2(); ret == nvml.SUCCESS && m.Reserved+m.Free <= m.Total {
			r.MemoryTotal, r.MemoryFree = Some(m.Total), Some(m.Free)
			r.MemoryUsed = Some(m.Total - m.Reserved - m.Free)
			return
		}
	}
	if m, ret := h.GetMemoryInfo(); ret == nvml.SUCCESS {
		r.MemoryTotal, r.MemoryFree, r.MemoryUsed = Some(m.Total), Some(m.Free), Some(m.Used)
	}
}

func (v *view) Processes(d Device) ([]Process, error) {
	h, ok := v.handle(d)
	if !ok {
		return nil, fmt.Errorf("list processes: no GPU has UUID %q", d.UUID)
	}
	infos, ret := h.GetComputeRunningProcesses()
	if ret != nvml.SUCCESS {
		return nil, fmt.Errorf("list processes of GPU %d: %w", d.Index, ret)
	}
	procs := make([]Process, 0, len(infos))
	for _, info := range infos {
		p := Process{PID: int(info.Pid)}
		// In containers some drivers return zero for unknown, others all ones.
		if info.UsedGpuMemory != 0 && info.UsedGpuMemory != math.MaxUint64 {
			p.Memory = Some(info.UsedGpuMemory)
		}
		procs = append(procs, p)
	}
	slices.SortFunc(procs, func(a, b Process) int { return cmp.Compare(a.PID, b.PID) })
	return procs, nil
}

func (v *view) Close() error {
	if ret := v.lib.Shutdown(); ret != nvml.SUCCESS {
		return fmt.Errorf("stop NVML: %w", ret)
	}
	return nil
}
