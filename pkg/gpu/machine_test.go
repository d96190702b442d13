package gpu_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
	"triton/pkg/gpu/nvml"
)

const (
	mib = gputest.MiB
	gib = gputest.GiB
)

func uuid(i int) string { return fmt.Sprintf("GPU-00000000-0000-0000-0000-%012d", i) }

// eight returns a machine of eight GPUs. Ten GiB of the first are in use.
func eight() *gputest.Simulator {
	gpus := make([]gputest.GPU, 8)
	gpus[0] = gputest.GPU{Reserved: gib, Foreign: []gputest.Process{
		{PID: 30}, {PID: 20, Name: "python", Memory: 9 * gib, Kinds: []nvml.ProcessKind{nvml.Compute, nvml.Graphics}},
	}}
	return gputest.New(1, gpus...)
}

func open(t *testing.T, s *gputest.Simulator, e gpu.Environment) *gpu.Machine {
	t.Helper()
	m, err := gpu.New(s, e)
	require.NoError(t, err)
	return m
}

func TestDevices(t *testing.T) {
	t.Parallel()
	m := open(t, eight(), gpu.Environment{})
	devices := m.Devices()
	require.Len(t, devices, 8)
	for i, d := range devices {
		require.Equal(t, gpu.Device{Index: i, UUID: uuid(i), Name: "Simulated A100-SXM4-40GB", Capability: "8.0"}, d)
	}
	require.NoError(t, m.Close())
}

func TestReading(t *testing.T) {
	t.Parallel()
	s := gputest.New(1,
		gputest.GPU{Reserved: gib, Foreign: []gputest.Process{{PID: 1, Memory: 9 * gib}}, View: gputest.Visibility{UsedContainsReserve: true}},
		gputest.GPU{Reserved: gib, Foreign: []gputest.Process{{PID: 1, Memory: 9 * gib}}, View: gputest.Visibility{NoMemoryV2: true}})
	m := open(t, s, gpu.Environment{})
	devices := m.Devices()
	want := gpu.Reading{
		MemoryTotal: gpu.Some[uint64](40 * gib), MemoryReserved: gpu.Some[uint64](gib),
		MemoryUsed: gpu.Some[uint64](9 * gib), // without the gibibyte of the driver
		MemoryFree: gpu.Some[uint64](30 * gib),
		BAR1Total:  gpu.Some[uint64](64 * gib), BAR1Used: gpu.Some[uint64](mib),
		Utilization: gpu.Some(0.0), Power: gpu.Some(250.5), PowerLimit: gpu.Some(400.0), Energy: gpu.Some(1234.5),
	}
	require.Equal(t, want, m.Read(devices[0]))
	want.MemoryReserved, want.MemoryUsed = gpu.Optional[uint64]{}, gpu.Some[uint64](10*gib)
	require.Equal(t, want, m.Read(devices[1]), "an old driver counts its reserve as used")
	require.Equal(t, gpu.Reading{
		MemoryTotal: want.MemoryTotal, MemoryUsed: want.MemoryUsed, MemoryFree: want.MemoryFree,
	}, m.Memory(devices[1]))
	require.Equal(t, gpu.Reading{}, m.Read(gpu.Device{UUID: "GPU-none"}))
	require.Equal(t, 1, s.Count("MemoryV2")-1, "the old driver was asked once for what it lacks")
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	s := eight()
	m := open(t, s, gpu.Environment{})
	devices := m.Devices()
	procs, err := m.Processes(devices[0])
	require.NoError(t, err)
	require.Equal(t, []gpu.Process{
		{PID: 20, Memory: gpu.Some[uint64](9 * gib), Use: gpu.UseCompute | gpu.UseGraphics},
		{PID: 30, Use: gpu.UseCompute},
	}, procs, "a process is listed once")
	require.Equal(t, "CG", procs[0].Use.String())
	s.FailOn(uuid(1), "Processes", nvml.NoPermission, -1)
	for range 2 {
		_, err = m.Processes(devices[1])
		require.ErrorIs(t, err, nvml.NoPermission)
	}
	_, err = m.Processes(gpu.Device{UUID: "GPU-none"})
	require.ErrorContains(t, err, `no GPU has UUID "GPU-none"`)
}

// TestHiddenMemory: drivers in containers show processes without their memory.
func TestHiddenMemory(t *testing.T) {
	t.Parallel()
	for _, view := range []gputest.ProcessView{gputest.ProcessesZero, gputest.ProcessesAllOnes} {
		m := open(t, gputest.New(1, gputest.GPU{
			Foreign: []gputest.Process{{PID: 7, Memory: gib}}, View: gputest.Visibility{Processes: view, PIDOffset: 100},
		}), gpu.Environment{})
		procs, err := m.Processes(m.Devices()[0])
		require.NoError(t, err)
		require.Equal(t, []gpu.Process{{PID: 107, Use: gpu.UseCompute}}, procs)
	}
}

func TestPeak(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{Accounting: true}, gputest.GPU{})
	m := open(t, s, gpu.Environment{})
	server, err := s.Start(uuid(0), 42, gputest.Law{Base: gib, Activation: func(int) uint64 { return 3 * gib }})
	require.NoError(t, err)
	require.NoError(t, server.Load(1))
	done, err := server.Run(1, 1)
	require.NoError(t, err)
	done()
	d := m.Devices()
	require.Equal(t, uint64(gib), m.Read(d[0]).MemoryUsed.Value)
	peak, err := m.Peak(d[0], 42)
	require.NoError(t, err)
	require.Equal(t, uint64(4*gib), peak)
	_, err = m.Peak(d[0], 43)
	require.ErrorIs(t, err, nvml.NotFound)
	_, err = m.Peak(d[1], 42)
	require.ErrorContains(t, err, "accounting is off; an administrator can turn it on with")
	_, err = m.Peak(gpu.Device{UUID: "GPU-none"}, 42)
	require.ErrorContains(t, err, "no GPU has UUID")
}

// TestUnreadableGPU: GPUs that this user may not open, or that are lost, do not take the
// others away. CUDA does not count them either.
func TestUnreadableGPU(t *testing.T) {
	t.Parallel()
	for call, want := range map[string]string{"Device": "open GPU 0", "UUID": "read the UUID of GPU 0"} {
		for _, ret := range []nvml.Return{nvml.NoPermission, nvml.GPUIsLost, nvml.Unknown} {
			s := eight()
			s.FailOn(uuid(0), call, ret, -1)
			var warned []string
			m := open(t, s, gpu.Environment{Warn: func(text string) { warned = append(warned, text) }})
			require.Len(t, m.Devices(), 7)
			require.Equal(t, uuid(1), m.Devices()[0].UUID)
			require.Equal(t, []string{want + ": " + ret.Error()}, warned)
			require.Equal(t, warned, m.Inventory().Unreadable)
			require.Equal(t, 1, m.Inventory().GPUs[0].Index, "the driver's number")
		}
	}
}

func TestNoDriver(t *testing.T) {
	t.Parallel()
	for ret, want := range map[nvml.Return]string{
		nvml.LibraryNotFound: "libnvidia-ml.so.1 was not found",
		nvml.DriverNotLoaded: "kernel driver is not loaded",
		nvml.VersionMismatch: "different versions",
		nvml.Unknown:         "start NVML",
	} {
		s := eight()
		s.Fail("Init", ret, -1)
		_, err := gpu.New(s, gpu.Environment{})
		require.ErrorIs(t, err, gpu.ErrNoDriver)
		require.ErrorContains(t, err, want)
	}
}

func TestFailureAfterInitShutsDown(t *testing.T) {
	t.Parallel()
	s := eight()
	s.Fail("DeviceCount", nvml.GPUIsLost, -1)
	_, err := gpu.New(s, gpu.Environment{})
	require.ErrorContains(t, err, "count GPUs")
	require.NotErrorIs(t, err, gpu.ErrNoDriver)
	require.Equal(t, 1, s.Count("Shutdown"))
}

// TestOpenOnThisMachine reads real devices on a machine with a driver; elsewhere it proves
// that a missing library is an error and no crash.
func TestOpenOnThisMachine(t *testing.T) {
	t.Parallel()
	m, err := gpu.Open(gpu.Environment{})
	if err != nil {
		require.ErrorIs(t, err, gpu.ErrNoDriver)
		require.Nil(t, m)
		return
	}
	for _, g := range m.Inventory().GPUs {
		require.NotEmpty(t, g.UUID)
	}
	require.NoError(t, m.Close())
}

// TestDevicesOfTheProcess: devices and what is read of them are those that CUDA means by the
// ordinal.
func TestDevicesOfTheProcess(t *testing.T) {
	t.Parallel()
	visible := "5," + uuid(0)
	m := open(t, eight(), gpu.Environment{Visible: &visible})
	require.Equal(t, []string{uuid(5), uuid(0)}, uuids(m.Devices()))
	require.Equal(t, uint64(9*gib), m.Read(m.Devices()[1]).MemoryUsed.Value)

	m = open(t, eight(), gpu.Environment{CUDA: func() ([]gpu.Identity, error) {
		return []gpu.Identity{{UUID: uuid(3)}, {UUID: "GPU-hidden"}, {PCI: "0000:01:00.0"}}, nil
	}})
	require.Equal(t, []string{uuid(3), uuid(0)}, uuids(m.Devices()))
	require.Equal(t, 2, m.Devices()[1].Index)
}

func uuids(devices []gpu.Device) (all []string) {
	for _, d := range devices {
		all = append(all, d.UUID)
	}
	return all
}
