//go:build linux && cgo

package nvml

import (
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// device adapts a device of go-nvml.
type device struct {
	d   nvml.Device
	lib *library
}

var _ Device = device{}

func (d device) UUID() (string, Return) { return result(d.d.GetUUID()) }
func (d device) Name() (string, Return) { return result(d.d.GetName()) }

func (d device) PCI() (PCI, Return) {
	p, ret := d.d.GetPciInfo()
	return PCI{Domain: p.Domain, Bus: p.Bus, Device: p.Device}, Return(ret)
}

func (d device) Capability() (major, minor int, ret Return) {
	major, minor, r := d.d.GetCudaComputeCapability()
	return major, minor, Return(r)
}

func (d device) ComputeMode() (ComputeMode, Return) {
	m, ret := d.d.GetComputeMode()
	return ComputeMode(m), Return(ret)
}

func (d device) Persistence() (bool, Return) {
	m, ret := d.d.GetPersistenceMode()
	return m == nvml.FEATURE_ENABLED, Return(ret)
}

func (d device) Virtualization() (Virtualization, Return) {
	if !d.lib.has("nvmlDeviceGetVirtualizationMode") {
		return 0, FunctionNotFound
	}
	m, ret := d.d.GetVirtualizationMode()
	return Virtualization(m), Return(ret)
}

func (d device) MemoryV2() (MemoryV2, Return) {
	if !d.lib.has("nvmlDeviceGetMemoryInfo_v2") {
		return MemoryV2{}, FunctionNotFound
	}
	m, ret := d.d.GetMemoryInfo_v2()
	return MemoryV2{m.Total, m.Reserved, m.Free, m.Used}, Return(ret)
}

func (d device) Memory() (Memory, Return) {
	m, ret := d.d.GetMemoryInfo()
	return Memory{m.Total, m.Free, m.Used}, Return(ret)
}

func (d device) BAR1() (Memory, Return) {
	if !d.lib.has("nvmlDeviceGetBAR1MemoryInfo") {
		return Memory{}, FunctionNotFound
	}
	m, ret := d.d.GetBAR1MemoryInfo()
	return Memory{m.Bar1Total, m.Bar1Free, m.Bar1Used}, Return(ret)
}

func (d device) Processes(kind ProcessKind) ([]Process, Return) {
	var infos []nvml.ProcessInfo
	var ret nvml.Return
	switch {
	case kind == Compute:
		infos, ret = d.d.GetComputeRunningProcesses()
	case kind == Graphics && d.lib.has("nvmlDeviceGetGraphicsRunningProcesses"):
		infos, ret = d.d.GetGraphicsRunningProcesses()
	case kind == MPS && d.lib.has("nvmlDeviceGetMPSComputeRunningProcesses"):
		infos, ret = d.d.GetMPSComputeRunningProcesses()
	default:
		return nil, FunctionNotFound
	}
	all := make([]Process, len(infos))
	for i, p := range infos {
		all[i] = Process{p.Pid, p.UsedGpuMemory, p.GpuInstanceId, p.ComputeInstanceId}
	}
	return all, Return(ret)
}

func (d device) Utilization() (Utilization, Return) {
	u, ret := d.d.GetUtilizationRates()
	return Utilization{u.Gpu, u.Memory}, Return(ret)
}

func (d device) Power() (milliwatts uint32, ret Return) { return result(d.d.GetPowerUsage()) }

func (d device) PowerLimit() (milliwatts uint32, ret Return) {
	return result(d.d.GetEnforcedPowerLimit())
}

func (d device) Energy() (millijoules uint64, ret Return) {
	if !d.lib.has("nvmlDeviceGetTotalEnergyConsumption") {
		return 0, FunctionNotFound
	}
	return result(d.d.GetTotalEnergyConsumption())
}

func (d device) Accounting() (on bool, ret Return) {
	if !d.lib.has("nvmlDeviceGetAccountingMode") {
		return false, FunctionNotFound
	}
	m, r := d.d.GetAccountingMode()
	return m == nvml.FEATURE_ENABLED, Return(r)
}

func (d device) AccountingPIDs() ([]int, Return) {
	if !d.lib.has("nvmlDeviceGetAccountingPids") {
		return nil, FunctionNotFound
	}
	return result(d.d.GetAccountingPids())
}

func (d device) AccountingStats(pid int) (AccountingStats, Return) {
	if !d.lib.has("nvmlDeviceGetAccountingStats") {
		return AccountingStats{}, FunctionNotFound
	}
	s, ret := d.d.GetAccountingStats(uint32(pid))
	return AccountingStats{s.MaxMemoryUsage, s.IsRunning != 0}, Return(ret)
}

func (d device) MIGMode() (current, pending bool, ret Return) {
	if !d.lib.has("nvmlDeviceGetMigMode") {
		return false, false, FunctionNotFound
	}
	now, next, r := d.d.GetMigMode()
	return now == nvml.DEVICE_MIG_ENABLE, next == nvml.DEVICE_MIG_ENABLE, Return(r)
}

func (d device) MaxMIGDevices() (int, Return) {
	if !d.lib.has("nvmlDeviceGetMaxMigDeviceCount") {
		return 0, FunctionNotFound
	}
	return result(d.d.GetMaxMigDeviceCount())
}

func (d device) MIGDevice(index int) (Device, Return) {
	if !d.lib.has("nvmlDeviceGetMigDeviceHandleByIndex") {
		return nil, FunctionNotFound
	}
	return d.lib.device(d.d.GetMigDeviceHandleByIndex(index))
}

// InstanceProfile prefers the newest form of the call, which has the profile's name.
func (d device) InstanceProfile(number int) (InstanceProfile, Return) {
	if d.lib.has("nvmlDeviceGetGpuInstanceProfileInfoV") {
		if p, ret := d.d.GetGpuInstanceProfileInfoV(number).V3(); ret == nvml.SUCCESS {
			return InstanceProfile{int(p.Id), text(p.Name[:]), int(p.SliceCount), int(p.InstanceCount), int(p.MultiprocessorCount), p.MemorySizeMB}, Success
		}
	}
	if !d.lib.has("nvmlDeviceGetGpuInstanceProfileInfo") {
		return InstanceProfile{}, FunctionNotFound
	}
	p, ret := d.d.GetGpuInstanceProfileInfo(number)
	return InstanceProfile{int(p.Id), "", int(p.SliceCount), int(p.InstanceCount), int(p.MultiprocessorCount), p.MemorySizeMB}, Return(ret)
}

// text converts a C string.
func text(chars []int8) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

func (d device) GPUInstance() (int, Return) {
	if !d.lib.has("nvmlDeviceGetGpuInstanceId") {
		return 0, FunctionNotFound
	}
	return result(d.d.GetGpuInstanceId())
}

func (d device) ComputeInstance() (int, Return) {
	if !d.lib.has("nvmlDeviceGetComputeInstanceId") {
		return 0, FunctionNotFound
	}
	return result(d.d.GetComputeInstanceId())
}

func (d device) Attributes() (Attributes, Return) {
	if !d.lib.has("nvmlDeviceGetAttributes_v2") && !d.lib.has("nvmlDeviceGetAttributes") {
		return Attributes{}, FunctionNotFound
	}
	a, ret := d.d.GetAttributes()
	return Attributes{a.MemorySizeMB, a.MultiprocessorCount, a.GpuInstanceSliceCount, a.ComputeInstanceSliceCount}, Return(ret)
}
