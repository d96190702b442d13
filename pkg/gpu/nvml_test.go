//go:build linux && cgo

package gpu

import (
	"math"
	"strconv"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/stretchr/testify/require"
)

const gib = 1 << 30

// server returns a mocked machine of eight A100s whose first device supports
// every query of the view; the others support none.
func server() *dgxa100.Server {
	s := dgxa100.New()
	for _, d := range s.Devices {
		unsupported(d.(*dgxa100.Device))
	}
	d := s.Devices[0].(*dgxa100.Device)
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) {
		return nvml.Memory_v2{Total: 40 * gib, Reserved: gib, Free: 30 * gib, Used: 10 * gib}, nvml.SUCCESS
	}
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
		return nvml.Utilization{Gpu: 75, Memory: 10}, nvml.SUCCESS
	}
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 250_500, nvml.SUCCESS }
	d.GetEnforcedPowerLimitFunc = func() (uint32, nvml.Return) { return 400_000, nvml.SUCCESS }
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 1_234_500, nvml.SUCCESS }
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{
			{Pid: 30, UsedGpuMemory: math.MaxUint64},
			{Pid: 20, UsedGpuMemory: 2 * gib},
			{Pid: 10},
		}, nvml.SUCCESS
	}
	return s
}

func unsupported(d *dgxa100.Device) {
	d.GetMemoryInfo_v2Func = func() (nvml.Memory_v2, nvml.Return) { return nvml.Memory_v2{}, nvml.ERROR_NOT_SUPPORTED }
	d.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) {
		return nvml.Utilization{}, nvml.ERROR_NOT_SUPPORTED
	}
	d.GetPowerUsageFunc = func() (uint32, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetEnforcedPowerLimitFunc = d.GetPowerUsageFunc
	d.GetTotalEnergyConsumptionFunc = func() (uint64, nvml.Return) { return 0, nvml.ERROR_NOT_SUPPORTED }
	d.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.ERROR_NO_PERMISSION }
}

func TestDevices(t *testing.T) {
	t.Parallel()
	s := server()
	v, err := open(s, Environment{})
	require.NoError(t, err)
	devices := v.Devices()
	require.Len(t, devices, 8)
	for i, d := range devices {
		require.Equal(t, Device{i, s.Devices[i].(*dgxa100.Device).UUID, "Mock NVIDIA A100-SXM4-40GB", "8.0"}, d)
	}
	require.NoError(t, v.Close())
}

func TestReading(t *testing.T) {
	t.Parallel()
	v, err := open(server(), Environment{})
	require.NoError(t, err)
	devices := v.Devices()
	require.Equal(t, Reading{
		MemoryTotal: Some[uint64](40 * gib),
		MemoryUsed:  Some[uint64](9 * gib), // without the gibibyte of the driver
		MemoryFree:  Some[uint64](30 * gib),
		Utilization: Some(0.75),
		Power:       Some(250.5),
		PowerLimit:  Some(400.0),
		Energy:      Some(1234.5),
	}, v.Read(devices[0]))
	// Every device of the mock supports the older memory call.
	require.Equal(t, Reading{
		MemoryTotal: Some[uint64](40 * gib),
		MemoryUsed:  Some[uint64](0),
		MemoryFree:  Some[uint64](0),
	}, v.Read(devices[1]))
	require.Equal(t, Reading{}, v.Read(Device{UUID: "GPU-none"}))
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	v, err := open(server(), Environment{})
	require.NoError(t, err)
	devices := v.Devices()
	procs, err := v.Processes(devices[0])
	require.NoError(t, err)
	require.Equal(t, []Process{{PID: 10}, {PID: 20, Memory: Some[uint64](2 * gib)}, {PID: 30}}, procs)
	_, err = v.Processes(devices[1])
	require.ErrorContains(t, err, "list processes of GPU 1")
	_, err = v.Processes(Device{UUID: "GPU-none"})
	require.ErrorContains(t, err, `no GPU has UUID "GPU-none"`)
}

// Calling an entry point that the driver lacks ends the process, so the view
// must not; the mock panics instead.
func TestOldDriver(t *testing.T) {
	t.Parallel()
	s := server()
	s.LookupSymbolFunc = func(string) error { return nvml.ERROR_FUNCTION_NOT_FOUND }
	d := s.Devices[0].(*dgxa100.Device)
	d.GetMemoryInfo_v2Func, d.GetTotalEnergyConsumptionFunc = nil, nil
	v, err := open(s, Environment{})
	require.NoError(t, err)
	r := v.Read(v.Devices()[0])
	require.False(t, r.Energy.Known)
	require.Equal(t, Some[uint64](40*gib), r.MemoryTotal)
}

func TestDeviceWithoutPermissionIsLeftOut(t *testing.T) {
	t.Parallel()
	s := server()
	byIndex := s.DeviceGetHandleByIndexFunc
	s.DeviceGetHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 0 {
			return nil, nvml.ERROR_NO_PERMISSION
		}
		return byIndex(i)
	}
	v, err := open(s, Environment{})
	require.NoError(t, err)
	require.Len(t, v.Devices(), 7)
	require.Equal(t, 0, v.Devices()[0].Index, "CUDA cannot open it either, and does not count it")
	require.Equal(t, s.Devices[1].(*dgxa100.Device).UUID, v.Devices()[0].UUID)
}

// Nothing but Init may be called when Init failed: the mock has nothing else.
func TestNoDriver(t *testing.T) {
	t.Parallel()
	for ret, want := range map[nvml.Return]string{
		nvml.ERROR_LIBRARY_NOT_FOUND:       "libnvidia-ml.so.1 was not found",
		nvml.ERROR_DRIVER_NOT_LOADED:       "kernel driver is not loaded",
		nvml.ERROR_LIB_RM_VERSION_MISMATCH: "different versions",
		nvml.ERROR_UNKNOWN:                 "start NVML",
	} {
		_, err := open(&mock.Interface{InitFunc: func() nvml.Return { return ret }}, Environment{})
		require.ErrorIs(t, err, ErrNoDriver)
		require.ErrorContains(t, err, want)
	}
}

func TestFailureAfterInitShutsDown(t *testing.T) {
	t.Parallel()
	s := server()
	stopped := 0
	s.ShutdownFunc = func() nvml.Return { stopped++; return nvml.SUCCESS }
	s.DeviceGetCountFunc = func() (int, nvml.Return) { return 0, nvml.ERROR_GPU_IS_LOST }
	_, err := open(s, Environment{})
	require.ErrorContains(t, err, "count GPUs")
	require.NotErrorIs(t, err, ErrNoDriver)
	require.Equal(t, 1, stopped)
}

// On a machine with a driver this reads real devices, elsewhere it proves that
// a missing library is an error and no crash.
func TestOpenOnThisMachine(t *testing.T) {
	t.Parallel()
	v, err := Open(Environment{})
	if err != nil {
		require.ErrorIs(t, err, ErrNoDriver)
		return
	}
	for _, d := range v.Devices() {
		require.NotEmpty(t, d.UUID)
		v.Read(d)
	}
	require.NoError(t, v.Close())
}

// at gives the mocked devices bus addresses in the reverse of their order.
func at(s *dgxa100.Server) *dgxa100.Server {
	for i, d := range s.Devices {
		d.(*dgxa100.Device).GetPciInfoFunc = func() (nvml.PciInfo, nvml.Return) {
			return nvml.PciInfo{Bus: uint32(0x80 - i)}, nvml.SUCCESS
		}
	}
	return s
}

// TestDevicesOfTheProcess: devices and what is read of them are those that CUDA
// means by the ordinal.
func TestDevicesOfTheProcess(t *testing.T) {
	t.Parallel()
	s := at(server())
	uuid := func(i int) string { return s.Devices[i].(*dgxa100.Device).UUID }
	visible := "5," + uuid(0)
	v, err := open(s, Environment{Visible: &visible})
	require.NoError(t, err)
	require.Equal(t, []Device{
		{0, uuid(2), "Mock NVIDIA A100-SXM4-40GB", "8.0"}, {1, uuid(0), "Mock NVIDIA A100-SXM4-40GB", "8.0"},
	}, v.Devices())
	require.Equal(t, Some(0.75), v.Read(v.Devices()[1]).Utilization)
	_, err = v.Processes(Device{UUID: uuid(1)})
	require.ErrorContains(t, err, "no GPU has UUID", "CUDA does not show it")

	v, err = open(s, Environment{CUDA: func() ([]Identity, error) {
		return []Identity{{UUID: uuid(3)}, {UUID: "GPU-hidden"}, {PCI: "0000:80:00.0"}}, nil
	}})
	require.NoError(t, err)
	require.Equal(t, []Device{
		{0, uuid(3), "Mock NVIDIA A100-SXM4-40GB", "8.0"}, {2, uuid(0), "Mock NVIDIA A100-SXM4-40GB", "8.0"},
	}, v.Devices())
}

// TestInstances reads what a GPU in MIG mode is divided into, with gaps between
// the numbers.
func TestInstances(t *testing.T) {
	t.Parallel()
	s := at(server())
	d := s.Devices[4].(*dgxa100.Device)
	d.MigMode = nvml.DEVICE_MIG_ENABLE
	d.GetMaxMigDeviceCountFunc = func() (int, nvml.Return) { return 3, nvml.SUCCESS }
	d.GetMigDeviceHandleByIndexFunc = func(i int) (nvml.Device, nvml.Return) {
		if i == 0 {
			return nil, nvml.ERROR_NOT_FOUND
		}
		return &mock.Device{
			GetUUIDFunc:              func() (string, nvml.Return) { return "MIG-" + strconv.Itoa(i), nvml.SUCCESS },
			GetGpuInstanceIdFunc:     func() (int, nvml.Return) { return 7 + i, nvml.SUCCESS },
			GetComputeInstanceIdFunc: func() (int, nvml.Return) { return 0, nvml.SUCCESS },
		}, nvml.SUCCESS
	}
	for _, visible := range []string{"MIG-" + d.UUID + "/9/0", d.UUID} {
		v, err := open(s, Environment{Visible: &visible})
		require.NoError(t, err)
		require.Equal(t, []Device{{0, d.UUID, "Mock NVIDIA A100-SXM4-40GB", "8.0"}}, v.Devices(), visible)
	}
}
