package analyze

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/process"
	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
	"triton/pkg/gpu/nvml"
	"triton/pkg/sharedtest"
)

const (
	deviceMiB = gputest.MiB
	gib       = gputest.GiB
)

// execute runs the command over the simulated machine.
func execute(t *testing.T, s *gputest.Simulator, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	return executeWith(t, simulated(s), args...)
}

// simulated reads the simulated machine.
func simulated(s *gputest.Simulator) func(gpu.Environment) (gpu.Inventory, error) {
	return func(e gpu.Environment) (gpu.Inventory, error) {
		e.CUDA = nil // there is none in the test
		m, err := gpu.New(s, e)
		if err != nil {
			return gpu.Inventory{}, err
		}
		defer m.Close()
		return m.Inventory(), nil
	}
}

func executeWith(t *testing.T, read func(gpu.Environment) (gpu.Inventory, error), args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	cmd := newDevicesOf(process.Process{Stdout: &out, Stderr: &log}, read)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean those of the test
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err = cmd.Execute()
	return out.String(), log.String(), err
}

// machines are the machines whose output is in testdata.
func machines() map[string]*gputest.Simulator {
	plain := gputest.New(1, gputest.GPU{
		Name: "NVIDIA A100-SXM4-40GB", Reserved: 594 * deviceMiB, Accounting: true, MIG: &gputest.MIG{Disabled: true},
		Foreign: []gputest.Process{{PID: 4711, Name: "python3", Memory: 3 * gib}, {PID: 900, Name: "Xorg", Memory: 50 * deviceMiB, Kinds: []nvml.ProcessKind{nvml.Graphics}}},
	}, gputest.GPU{
		Name: "Tesla T4", Total: 15360 * deviceMiB, Reserved: 459 * deviceMiB, Major: 7, Minor: 5, ComputeMode: nvml.ExclusiveProcess,
		Virtualization: nvml.PassThrough, View: gputest.Visibility{NoMemoryV2: true, Processes: gputest.ProcessesAllOnes},
		Foreign: []gputest.Process{{PID: 12, Name: "trainer", Memory: gib}},
	})
	mig := gputest.New(1, gputest.GPU{
		Name: "NVIDIA A100-SXM4-40GB", Reserved: 594 * deviceMiB, MIG: &gputest.MIG{Hidden: true, Instances: []gputest.Instance{
			{UUID: "MIG-4f0b1f4e-0000-0000-0000-000000000001", GPUInstance: 1, MemoryMB: 19968, Slices: 3, ComputeSlices: 2, Multiprocessors: 28},
			{},
			{UUID: "MIG-4f0b1f4e-0000-0000-0000-000000000002", GPUInstance: 1, ComputeInstance: 1, MemoryMB: 19968, Slices: 3, ComputeSlices: 1, Multiprocessors: 14},
			{UUID: "MIG-4f0b1f4e-0000-0000-0000-000000000003", GPUInstance: 9, MemoryMB: 4864, Slices: 1, ComputeSlices: 1, Multiprocessors: 14},
		}},
		Foreign: []gputest.Process{{PID: 7, Name: "tritonserver", Memory: 2 * gib, Instance: "MIG-4f0b1f4e-0000-0000-0000-000000000003"}},
	})
	broken := gputest.New(1,
		gputest.GPU{Name: "NVIDIA A30", MIG: &gputest.MIG{Disabled: true, Pending: true}},
		gputest.GPU{Name: "NVIDIA A30"}, gputest.GPU{Name: "NVIDIA A30", View: gputest.Visibility{Processes: gputest.ProcessesDenied}})
	uuid := "GPU-00000000-0000-0000-0000-000000000000"
	broken.FailOn(uuid, "InstanceProfile", nvml.FunctionNotFound, -1)
	broken.FailOn("GPU-00000000-0000-0000-0000-000000000001", "UUID", nvml.NoPermission, -1)
	broken.FailOn("GPU-00000000-0000-0000-0000-000000000002", "BAR1", nvml.GPUIsLost, -1)
	for _, call := range []string{"DriverVersion", "PCI", "Name", "Capability", "ComputeMode", "Power"} {
		broken.FailOn(uuid, call, nvml.NotSupported, -1)
	}
	broken.Fail("DriverVersion", nvml.Unknown, -1)
	none := gputest.New(1)
	noDriver := gputest.New(1)
	noDriver.Fail("Init", nvml.LibraryNotFound, -1)
	return map[string]*gputest.Simulator{"plain": plain, "mig": mig, "broken": broken, "none": none, "nodriver": noDriver}
}

func TestText(t *testing.T) {
	t.Parallel()
	for name, s := range machines() {
		out, _, err := execute(t, s)
		require.NoError(t, err, name)
		sharedtest.GoldenFile(t, name+".txt", out)
	}
}

func TestWidths(t *testing.T) {
	t.Parallel()
	for name, s := range machines() {
		sharedtest.GoldenWidths(t, "devices-"+name, func(w io.Writer) error {
			cmd := newDevicesOf(process.Process{Stdout: w, Stderr: io.Discard}, simulated(s))
			cmd.SetArgs([]string{}) // nil would mean those of the test
			return cmd.Execute()
		})
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, s := range machines() {
		out, _, err := execute(t, s, "--output", "json")
		require.NoError(t, err, name)
		var parsed struct {
			GPUs   []json.RawMessage
			Reason string
		}
		require.NoError(t, json.Unmarshal([]byte(out), &parsed))
		require.NotNil(t, parsed.GPUs, "a list even without GPUs")
		require.Equal(t, len(parsed.GPUs) == 0, parsed.Reason != "", name)
		sharedtest.GoldenFile(t, name+".json", out)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	out, _, err := execute(t, gputest.New(1), "--known")
	require.NoError(t, err)
	sharedtest.GoldenFile(t, "known.txt", out)
	out, _, err = execute(t, gputest.New(1), "--known", "--output", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"name": "1g.10gb"`)
}

// TestWarnings: GPUs that cannot be opened are told on standard error too, because JSON goes
// to programs.
func TestWarnings(t *testing.T) {
	t.Parallel()
	_, log, err := execute(t, machines()["broken"])
	require.NoError(t, err)
	require.Contains(t, log, "warning: read the UUID of GPU 1: no permission\n")
}

func TestErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, _, err := executeWith(t, func(gpu.Environment) (gpu.Inventory, error) { return gpu.Inventory{}, broken })
	require.ErrorIs(t, err, broken)
	_, _, err = execute(t, gputest.New(1), "--output", "csv")
	require.ErrorContains(t, err, "unknown form")
	_, _, err = execute(t, gputest.New(1), "gpu0")
	require.ErrorContains(t, err, `unexpected argument "gpu0"`)
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, os.ErrClosed
	}
	return len(p), nil
}

// TestWriteErrors: an error of the output is reported wherever it happens.
func TestWriteErrors(t *testing.T) {
	t.Parallel()
	s := machines()["mig"]
	m, err := s.Open()
	require.NoError(t, err)
	r := devicesResult{Inventory: m.Inventory()}
	for left := 0; left < 3000; left += 97 {
		require.ErrorIs(t, devicesText(&full{left}, r), os.ErrClosed, left)
	}
}
