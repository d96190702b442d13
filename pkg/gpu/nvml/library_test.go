//go:build linux && cgo

package nvml

import (
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/stretchr/testify/require"
)

// full returns a mocked machine whose first device answers every call.
func full() (*dgxa100.Server, *dgxa100.Device) {
	s := dgxa100.New()
	d := s.Devices[0].(*dgxa100.Device)
	s.SystemGetCudaDriverVersion_v2Func = func() (int, nvml.Return) { return 12040, nvml.SUCCESS }
	s.SystemGetProcessNameFunc = func(int) (string, nvml.Return) { return "python", nvml.SUCCESS }
	d.GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) { return nvml.PciInfo{Domain: 1, Bus: 2, Device: 3}, nvml.SUCCESS }
	d.GetComputeModeFunc = func() (nvml.ComputeMode, nvml.Return) {
		return nvml.COMPUTEMODE_EXCLUSIVE_PROCESS, nvml.SUCCESS
	}
	d.GetPersistenceModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS }
	d.GetVirtualizationModeFunc = func() (nvml.GpuVirtualizationMode, nvml.Return) {
		return nvml.GPU_VIRTUALIZATION_MODE_VGPU, nvml.SUCCESS
	}
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: 40, Reserved: 1, Free: 30, Used: 10}, nvml.SUCCESS
	}
	d.GetMemoryInfoFunc = func() (nvml.Memory, nvml.Return) { return nvml.Memory{Total: 40, Free: 30, Used: 10}, nvml.SUCCESS }
	d.GetBAR1MemoryInfoFunc = func() (nvml.BAR1Memory, nvml.Return) {
		return nvml.BAR1Memory{Bar1Total: 8, Bar1Free: 7, Bar1Used: 1}, nvml.SUCCESS
	}
	list := func(pid uint32) func() ([]nvml.ProcessInfo, nvml.Return) {
		return func() ([]nvml.ProcessInfo, nvml.Return) {
			return []nvml.ProcessInfo{{Pid: pid, UsedGpuMemory: 5, GpuInstanceId: 7, ComputeInstanceId: 8}}, nvml.SUCCESS
		}
	}
	d.GetComputeRunningProcessesFunc, d.GetMPSComputeRunningProcessesFunc, d.GetGraphicsRunningProcessesFunc = list(1), list(2), list(3)
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
		return nvml.Utilization{Gpu: 75, Memory: 10}, nvml.SUCCESS
	}
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 250_500, nvml.SUCCESS }
	d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 400_000, nvml.SUCCESS }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 1_234_500, nvml.SUCCESS }
	d.GetAccountingModeFunc = func() (nvml.EnableState, nvml.Return) { return nvml.FEATURE_ENABLED, nvml.SUCCESS }
	d.GetAccountingPidsFunc = func() ([]int, nvml.Return) { return []int{11, 12}, nvml.SUCCESS }
	d.GetAccountingStatsFunc = func(pid uint32) (nvml.AccountingStats, nvml.Return) {
		return nvml.AccountingStats{MaxMemoryUsage: uint64(pid), IsRunning: 1}, nvml.SUCCESS
	}
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 7, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 0 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return &mock.Device{
			GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return 9, nvml.SUCCESS },
			GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 1, nvml.SUCCESS },
			GetAttributesFunc: func() (nvml.DeviceAttributes, nvml.Return) {
				return nvml.DeviceAttributes{MemorySizeMB: 4864, MultiprocessorCount: 14, GpuInstanceSliceCount: 2, ComputeInstanceSliceCount: 1}, nvml.SUCCESS
			},
		}, nvml.SUCCESS
	}
	// The mock cannot carry out the newest form of this call.
	s.LookupSymbolFunc = func(symbol string) error {
		if symbol == "nvmlDeviceGetGpuInstanceProfileInfoV" {
			return nvml.ERROR_FUNCTION_NOT_FOUND
		}
		return nil
	}
	return s, d
}

// want checks a value and that it was read.
func want[T any](t *testing.T, v T) func(T, Return) {
	t.Helper()
	return func(got T, ret Return) {
		t.Helper()
		require.Equal(t, Success, ret)
		require.Equal(t, v, got)
	}
}

func TestLibrary(t *testing.T) {
	t.Parallel()
	s, _ := full()
	l := newLibrary(s)
	require.Equal(t, Success, l.Init())
	want(t, "550.54.15")(l.DriverVersion())
	want(t, "12.550.54.15")(l.NVMLVersion())
	want(t, 12040)(l.CUDAVersion())
	want(t, 8)(l.DeviceCount())
	want(t, "python")(l.ProcessName(1))
	_, ret := l.Device(99)
	require.Equal(t, InvalidArgument, ret)
	require.Equal(t, Success, l.Shutdown())
}

func TestDevice(t *testing.T) {
	t.Parallel()
	s, mocked := full()
	d, ret := newLibrary(s).Device(0)
	require.Equal(t, Success, ret)
	want(t, mocked.UUID)(d.UUID())
	want(t, "Mock NVIDIA A100-SXM4-40GB")(d.Name())
	want(t, PCI{1, 2, 3})(d.PCI())
	major, minor, ret := d.Capability()
	require.Equal(t, []any{8, 0, Success}, []any{major, minor, ret})
	want(t, ExclusiveProcess)(d.ComputeMode())
	want(t, true)(d.Persistence())
	want(t, VGPU)(d.Virtualization())
	want(t, MemoryV2{40, 1, 30, 10})(d.MemoryV2())
	want(t, Memory{40, 30, 10})(d.Memory())
	want(t, Memory{8, 7, 1})(d.BAR1())
	for pid, kind := range map[uint32]ProcessKind{1: Compute, 2: MPS, 3: Graphics} {
		want(t, []Process{{pid, 5, 7, 8}})(d.Processes(kind))
	}
	want(t, Utilization{75, 10})(d.Utilization())
	want(t, uint32(250_500))(d.Power())
	want(t, uint32(400_000))(d.PowerLimit())
	want(t, uint64(1_234_500))(d.Energy())
	want(t, true)(d.Accounting())
	want(t, []int{11, 12})(d.AccountingPIDs())
	want(t, AccountingStats{12, true})(d.AccountingStats(12))
}

func TestMIG(t *testing.T) {
	t.Parallel()
	s, mocked := full()
	mocked.MigMode = nvml.DEVICE_MIG_ENABLE
	d, _ := newLibrary(s).Device(0)
	current, pending, ret := d.MIGMode()
	require.Equal(t, []any{true, true, Success}, []any{current, pending, ret})
	want(t, 7)(d.MaxMIGDevices())
	_, ret = d.MIGDevice(0)
	require.Equal(t, NotFound, ret)
	m, ret := d.MIGDevice(1)
	require.Equal(t, Success, ret)
	want(t, 9)(m.GPUInstance())
	want(t, 1)(m.ComputeInstance())
	want(t, Attributes{4864, 14, 2, 1})(m.Attributes())
	p, ret := d.InstanceProfile(0)
	require.Equal(t, Success, ret)
	require.Equal(t, InstanceProfile{ID: p.ID, Slices: 1, Instances: 7, Multiprocessors: 14, MemoryMB: 4864}, p)
}

// TestMissingFunctions: calling a function that the driver lacks would end the program, so
// none is called; the mock panics instead.
func TestMissingFunctions(t *testing.T) {
	t.Parallel()
	s := dgxa100.New()
	s.LookupSymbolFunc = func(string) error { return nvml.ERROR_FUNCTION_NOT_FOUND }
	mocked := s.Devices[0].(*dgxa100.Device)
	mocked.GetMigModeFunc, mocked.GetGpuInstanceProfileInfoFunc = nil, nil
	l := newLibrary(s)
	_, ret := l.CUDAVersion()
	require.Equal(t, FunctionNotFound, ret)
	d, _ := l.Device(0)
	for name, call := range map[string]func() Return{
		"Virtualization":  func() Return { _, ret := d.Virtualization(); return ret },
		"MemoryV2":        func() Return { _, ret := d.MemoryV2(); return ret },
		"BAR1":            func() Return { _, ret := d.BAR1(); return ret },
		"MPS":             func() Return { _, ret := d.Processes(MPS); return ret },
		"Graphics":        func() Return { _, ret := d.Processes(Graphics); return ret },
		"Energy":          func() Return { _, ret := d.Energy(); return ret },
		"Accounting":      func() Return { _, ret := d.Accounting(); return ret },
		"AccountingPIDs":  func() Return { _, ret := d.AccountingPIDs(); return ret },
		"AccountingStats": func() Return { _, ret := d.AccountingStats(1); return ret },
		"MIGMode":         func() Return { _, _, ret := d.MIGMode(); return ret },
		"MaxMIGDevices":   func() Return { _, ret := d.MaxMIGDevices(); return ret },
		"MIGDevice":       func() Return { _, ret := d.MIGDevice(0); return ret },
		"InstanceProfile": func() Return { _, ret := d.InstanceProfile(0); return ret },
		"GPUInstance":     func() Return { _, ret := d.GPUInstance(); return ret },
		"ComputeInstance": func() Return { _, ret := d.ComputeInstance(); return ret },
		"Attributes":      func() Return { _, ret := d.Attributes(); return ret },
	} {
		require.Equal(t, FunctionNotFound, call(), name)
	}
}

func TestReturnText(t *testing.T) {
	t.Parallel()
	require.Equal(t, "no permission", NoPermission.Error())
	require.Equal(t, "NVML error 77", Return(77).Error())
	require.Equal(t, "abc", text([]int8{'a', 'b', 'c', 0, 'd'}))
}

// TestRealLibrary asks the driver of this machine everything, and needs answers to what no driver lacks.
func TestRealLibrary(t *testing.T) {
	lib, err := Load()
	require.NoError(t, err)
	if ret := lib.Init(); ret != Success {
		t.Skip(ret.Error())
	}
	defer func() { require.Equal(t, Success, lib.Shutdown()) }()
	count, ret := lib.DeviceCount()
	require.Equal(t, Success, ret)
	for i := range count {
		d, ret := lib.Device(i)
		require.Equal(t, Success, ret)
		name, ret := d.Name()
		require.Equal(t, Success, ret)
		uuid, ret := d.UUID()
		require.Equal(t, Success, ret)
		require.Regexp(t, "^GPU-", uuid)
		memory, ret := d.Memory()
		require.Equal(t, Success, ret)
		require.Positive(t, memory.Total)
		major, _, ret := d.Capability()
		require.Equal(t, Success, ret)
		require.Positive(t, major)
		_, v2 := d.MemoryV2()
		_, bar1 := d.BAR1()
		_, processes := d.Processes(Compute)
		_, utilization := d.Utilization()
		_, power := d.Power()
		_, limit := d.PowerLimit()
		_, energy := d.Energy()
		_, accounting := d.Accounting()
		_, _, mig := d.MIGMode()
		t.Logf("%s %s: memory v2 %v, bar1 %v, processes %v, utilization %v, power %v, limit %v, energy %v, accounting %v, MIG %v",
			name, uuid, v2, bar1, processes, utilization, power, limit, energy, accounting, mig)
	}
}
