package gpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
	"triton/pkg/gpu/nvml"
)

// divided returns a machine with a GPU in MIG mode, whose instances 0 and 3 are parts of one
// GPU instance, and one that is not.
func divided() *gputest.Simulator {
	return gputest.New(1, gputest.GPU{
		Reserved: 512 * mib, MIG: &gputest.MIG{Hidden: true, Instances: []gputest.Instance{
			{UUID: "MIG-a", GPUInstance: 1, MemoryMB: 19968, Slices: 3, ComputeSlices: 2, Multiprocessors: 28},
			{},
			{UUID: "MIG-b", GPUInstance: 5, MemoryMB: 4864, Slices: 1, ComputeSlices: 1, Multiprocessors: 14},
			{UUID: "MIG-c", GPUInstance: 1, ComputeInstance: 1, MemoryMB: 19968, Slices: 3, ComputeSlices: 1, Multiprocessors: 14},
		}},
		Foreign: []gputest.Process{{PID: 10, Name: "trainer", Memory: gib, Instance: "MIG-c"}, {PID: 11, Memory: gib, Instance: "MIG-b"}},
	}, gputest.GPU{Foreign: []gputest.Process{{PID: 12, Memory: gib}}, Accounting: true})
}

var returns = []nvml.Return{
	nvml.Uninitialized, nvml.InvalidArgument, nvml.NotSupported, nvml.NoPermission, nvml.NotFound, nvml.InsufficientSize,
	nvml.DriverNotLoaded, nvml.Timeout, nvml.LibraryNotFound, nvml.FunctionNotFound, nvml.GPUIsLost, nvml.ResetRequired,
	nvml.VersionMismatch, nvml.InUse, nvml.NoData, nvml.ArgumentMismatch, nvml.GPUNotFound, nvml.InvalidState, nvml.Unknown, 4711,
}

// readAll reads everything twice.
func readAll(m *gpu.Machine) (v gpu.Inventory) {
	for range 2 {
		v = m.Inventory()
		for _, g := range v.GPUs {
			m.Read(gpu.Device{UUID: g.UUID})
			m.Memory(gpu.Device{UUID: g.UUID})
			_, _ = m.Processes(gpu.Device{UUID: g.UUID})
			_, _ = m.Peak(gpu.Device{UUID: g.UUID}, 12)
			for _, i := range g.MIG.Instances {
				m.Read(gpu.Device{UUID: i.UUID})
			}
		}
	}
	return v
}

// TestEveryFailure: whichever call fails in whatever way, from the start or later, nothing
// panics, what does not depend on the call is still read, and no value is made up.
func TestEveryFailure(t *testing.T) {
	t.Parallel()
	whole := readAll(open(t, divided(), gpu.Environment{}))
	for _, call := range gputest.Calls() {
		for _, ret := range returns {
			for _, late := range []bool{false, true} {
				s := divided()
				if !late {
					s.Fail(call, ret, -1)
				}
				m, err := gpu.New(s, gpu.Environment{})
				if err != nil {
					require.Contains(t, []string{"Init", "DeviceCount"}, call, "%v ends everything", ret)
					continue
				}
				if late {
					readAll(m)
					s.Fail(call, ret, -1)
				}
				for _, g := range readAll(m).GPUs {
					compareReading(t, whole.GPUs[g.Index].Reading, g.Reading, call, ret)
				}
				_ = m.Close()
			}
		}
	}
}

// compareReading checks that a reading has the values of the whole one or none, and that all
// are missing only if the GPU is lost.
func compareReading(t *testing.T, whole, got gpu.Reading, call string, ret nvml.Return) {
	t.Helper()
	require.Equal(t, got.Lost, got.Lost && ret == nvml.GPUIsLost)
	if got.Lost {
		return
	}
	for name, v := range map[string][2]gpu.Optional[uint64]{
		"MemoryTotal": {whole.MemoryTotal, got.MemoryTotal}, "MemoryFree": {whole.MemoryFree, got.MemoryFree}, "BAR1": {whole.BAR1Used, got.BAR1Used},
	} {
		if v[1].Known {
			require.Equal(t, v[0], v[1], "%s with %s: %v", name, call, ret)
		} else if v[0].Known {
			require.Contains(t, []string{"BAR1"}, call, "%s is missing with %v", name, ret)
		}
	}
	for name, v := range map[string][2]gpu.Optional[float64]{
		"Utilization": {whole.Utilization, got.Utilization}, "Power": {whole.Power, got.Power},
		"PowerLimit": {whole.PowerLimit, got.PowerLimit}, "Energy": {whole.Energy, got.Energy},
	} {
		if v[1].Known {
			require.Equal(t, v[0], v[1], "%s with %s: %v", name, call, ret)
		} else if v[0].Known {
			require.Equal(t, name, call, "is missing with %v", ret)
		}
	}
}

// TestReactions: which failures are final, which are tried again, and which pass.
func TestReactions(t *testing.T) {
	t.Parallel()
	for ret, want := range map[nvml.Return]struct {
		calls int  // in two readings while the call fails
		again bool // read once it works again
	}{
		nvml.NotSupported:     {1, false},
		nvml.NoPermission:     {1, false},
		nvml.FunctionNotFound: {1, false},
		nvml.ArgumentMismatch: {1, false},
		nvml.Unknown:          {2, false},
		nvml.NoData:           {2, true},
		nvml.Timeout:          {2, true},
		nvml.GPUIsLost:        {1, false},
	} {
		s := eight()
		m := open(t, s, gpu.Environment{})
		d := m.Devices()[0]
		s.Fail("Power", ret, -1)
		require.False(t, m.Read(d).Power.Known)
		r := m.Read(d)
		require.False(t, r.Power.Known)
		require.Equal(t, want.calls, s.Count("Power"), "%v", ret)
		require.Equal(t, ret == nvml.GPUIsLost, r.Lost)
		require.Equal(t, ret != nvml.GPUIsLost, r.MemoryTotal.Known, "a lost GPU has no values")
		s.Fail("Power", ret, 0)
		require.Equal(t, want.again, m.Read(d).Power.Known, "%v", ret)
	}
}

// TestUnknownErrorIsTriedAgain: a single one is no failure.
func TestUnknownErrorIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := eight()
	m := open(t, s, gpu.Environment{})
	s.Fail("Power", nvml.Unknown, 1)
	require.True(t, m.Read(m.Devices()[0]).Power.Known)
}

// TestOlderForms: when the newer form of a call fails for the reasons of an old driver, the
// older one is used.
func TestOlderForms(t *testing.T) {
	t.Parallel()
	for _, ret := range []nvml.Return{nvml.FunctionNotFound, nvml.ArgumentMismatch, nvml.NotSupported, nvml.Unknown} {
		s := eight()
		s.Fail("MemoryV2", ret, -1)
		m := open(t, s, gpu.Environment{})
		r := m.Memory(m.Devices()[0])
		require.Equal(t, gpu.Some[uint64](10*gib), r.MemoryUsed)
		require.False(t, r.MemoryReserved.Known)
	}
}
