package gpu_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
	"triton/pkg/gpu/nvml"
	"triton/pkg/sharedtest"
)

// TestInventory reads a GPU in MIG mode, with gaps between the numbers of its instances, two
// of which have one memory; and a whole one.
func TestInventory(t *testing.T) {
	t.Parallel()
	visible := "MIG-" + uuid(0) + "/1/1" // the older form of MIG-c
	got, err := json.MarshalIndent(open(t, divided(), gpu.Environment{Visible: &visible}).Inventory(), "", "  ")
	require.NoError(t, err)
	want, err := os.ReadFile("testdata/inventory.json")
	if sharedtest.UpdateGolden() {
		require.NoError(t, os.WriteFile("testdata/inventory.json", append(got, '\n'), 0o600))
		return
	}
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n")
}

// TestInstances: an instance is read by both of its names, with the processes that are its
// own.
func TestInstances(t *testing.T) {
	t.Parallel()
	m := open(t, divided(), gpu.Environment{})
	require.Equal(t, []gpu.Device{{UUID: uuid(0), Name: "Simulated A100-SXM4-40GB", Capability: "8.0", Instance: "MIG-a"}}, m.Devices(),
		"a process sees the first instance and nothing else")
	for _, name := range []string{"MIG-c", "MIG-" + uuid(0) + "/1/1"} {
		require.Equal(t, gpu.Some[uint64](gib), m.Read(gpu.Device{UUID: name}).MemoryUsed)
		procs, err := m.Processes(gpu.Device{UUID: name})
		require.NoError(t, err)
		require.Equal(t, []gpu.Process{{PID: 10, Memory: gpu.Some[uint64](gib), Use: gpu.UseCompute}}, procs)
	}
	procs, err := m.Processes(gpu.Device{UUID: "MIG-a"})
	require.NoError(t, err)
	require.Empty(t, procs, "the list is of the GPU instance; the process is of another compute instance")
	require.Equal(t, gpu.Some[uint64](gib), m.Read(gpu.Device{UUID: "MIG-a"}).MemoryUsed, "but it has the memory")
	_, err = m.Processes(gpu.Device{UUID: uuid(0)})
	require.ErrorIs(t, err, nvml.NoPermission)
	_, err = m.Peak(gpu.Device{UUID: "MIG-a"}, 10)
	require.ErrorContains(t, err, "MIG instances have no accounting")
}

// TestPendingMode: the mode after the next reset is told apart.
func TestPendingMode(t *testing.T) {
	t.Parallel()
	m := open(t, gputest.New(1, gputest.GPU{MIG: &gputest.MIG{Disabled: true, Pending: true}}), gpu.Environment{})
	mig := m.Inventory().GPUs[0].MIG
	require.Equal(t, []bool{true, false, true}, []bool{mig.Supported, mig.Enabled, mig.Pending})
	require.Len(t, m.Devices(), 1, "until then it is a whole GPU")
}

// TestProcessesOfAllInstances: a process with two instances of a GPU has the memory of both.
func TestProcessesOfAllInstances(t *testing.T) {
	t.Parallel()
	m := open(t, gputest.New(1, gputest.GPU{
		MIG: &gputest.MIG{Instances: []gputest.Instance{{UUID: "MIG-a", GPUInstance: 1, MemoryMB: 4864}, {UUID: "MIG-b", GPUInstance: 2, MemoryMB: 4864}}},
		Foreign: []gputest.Process{
			{PID: 7, Memory: gib, Instance: "MIG-a"}, {PID: 7, Memory: 2 * gib, Instance: "MIG-b"},
		},
	}), gpu.Environment{})
	procs, err := m.Processes(gpu.Device{UUID: uuid(0)})
	require.NoError(t, err)
	require.Equal(t, []gpu.Process{{PID: 7, Memory: gpu.Some[uint64](3 * gib), Use: gpu.UseCompute}}, procs)
}
