package meter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/meter"
	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
)

const first = "GPU-00000000-0000-0000-0000-000000000000"

var law = gputest.Law{Base: 500 * gputest.MiB, PerInstance: 300 * gputest.MiB}

// open returns a meter of simulated GPUs and a server of a model on the first.
func open(t *testing.T, gpus ...gputest.GPU) (*meter.DeviceMeter, *gputest.Simulator, *gputest.Server) {
	t.Helper()
	s := gputest.New(1, gpus...)
	m, err := s.Open()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	meter, err := meter.NewDeviceMeter(m, nil)
	require.NoError(t, err)
	v, err := s.Start(first, 100, law)
	require.NoError(t, err)
	require.NoError(t, v.Load(2))
	return meter, s, v
}

func card() gputest.GPU { return gputest.GPU{Total: 16 << 30, Reserved: 300 * gputest.MiB} }

// TestRanks reads the same server with everything that drivers hide.
func TestRanks(t *testing.T) {
	t.Parallel()
	neighbor := []gputest.Process{{PID: 7, Memory: 1000 * gputest.MiB}}
	for name, c := range map[string]struct {
		view    gputest.Visibility
		foreign []gputest.Process
		account bool
		want    uint64
		source  meter.Source
	}{
		"processes":              {want: 1100, source: meter.Processes},
		"processes, shared":      {foreign: neighbor, want: 1100, source: meter.Processes},
		"accounting":             {account: true, want: 1100, source: meter.Accounting},
		"zeros":                  {view: gputest.Visibility{Processes: gputest.ProcessesZero}, want: 1100, source: meter.WholeDevice},
		"all ones":               {view: gputest.Visibility{Processes: gputest.ProcessesAllOnes}, want: 1100, source: meter.WholeDevice},
		"denied":                 {view: gputest.Visibility{Processes: gputest.ProcessesDenied}, want: 1100, source: meter.WholeDevice},
		"another PID namespace":  {view: gputest.Visibility{PIDOffset: 5000}, want: 1100, source: meter.Processes},
		"namespace and shared":   {view: gputest.Visibility{PIDOffset: 5000}, foreign: neighbor, want: 1100, source: meter.Processes},
		"zeros on a shared card": {view: gputest.Visibility{Processes: gputest.ProcessesZero}, foreign: neighbor, want: 0, source: meter.NoSource},
		"older driver":           {view: gputest.Visibility{NoMemoryV2: true}, want: 1100, source: meter.Processes},
	} {
		g := card()
		g.View, g.Foreign, g.Accounting = c.view, c.foreign, c.account
		meter, _, _ := open(t, g)
		require.Equal(t, c.want*gputest.MiB, meter.Read([]int{100})[first], name)
		peaks := meter.Peaks([]int{100})
		if c.account {
			require.Equal(t, map[string]uint64{first: 1100 * gputest.MiB}, peaks, name)
		}
		source, disagree := meter.Sources(first)
		require.Equal(t, c.source, source, name)
		require.Empty(t, disagree, name)
	}
}

// TestDevicesAreApart checks a machine of eight GPUs of which the server uses one: the room of a
// device is its own, and not the sum of all.
func TestDevicesAreApart(t *testing.T) {
	t.Parallel()
	var gpus []gputest.GPU
	for range 8 {
		gpus = append(gpus, card())
	}
	meter, _, _ := open(t, gpus...)
	require.Equal(t, map[string]uint64{first: 1100 * gputest.MiB}, meter.Read([]int{100}))
	rooms := meter.Rooms()
	require.Len(t, rooms, 8)
	require.Equal(t, uint64(16<<30-300*gputest.MiB), rooms[7].Usable)
	require.Equal(t, uint64(16<<30-300*gputest.MiB-1100*gputest.MiB), rooms[0].Usable)
	require.Equal(t, "process 100", rooms[0].Foreign)
}

func TestChosenDevices(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, card(), card())
	m, err := s.Open()
	require.NoError(t, err)
	chosen, err := meter.NewDeviceMeter(m, []string{"1"})
	require.NoError(t, err)
	require.Len(t, chosen.Rooms(), 1)
	require.Equal(t, "GPU-00000000-0000-0000-0000-000000000001", chosen.Rooms()[0].UUID)
	_, err = meter.NewDeviceMeter(m, []string{"0", "GPU-none"})
	require.EqualError(t, err, "device GPU-none is not one that CUDA shows to this process")
}

// view is a driver whose figures disagree.
type view struct{ used, process uint64 }

func (v *view) Devices() []gpu.Device { return []gpu.Device{{UUID: "G", Instance: "MIG-1"}} }
func (v *view) Close() error          { return nil }
func (v *view) Read(d gpu.Device) gpu.Reading {
	if d.UUID != "MIG-1" {
		return gpu.Reading{}
	}
	return gpu.Reading{MemoryTotal: gpu.Some[uint64](1 << 40), MemoryUsed: gpu.Some(v.used), MemoryFree: gpu.Some[uint64](1 << 40)}
}

func (v *view) Processes(gpu.Device) ([]gpu.Process, error) {
	return []gpu.Process{{PID: 1, Memory: gpu.Some(v.process)}}, nil
}

// TestDisagreement checks that of two figures the larger counts, and that it is said.
func TestDisagreement(t *testing.T) {
	t.Parallel()
	v := &view{}
	meter, err := meter.NewDeviceMeter(v, []string{"mig:MIG-1"})
	require.NoError(t, err)
	v.used, v.process = 2000*gputest.MiB, 1990*gputest.MiB
	require.Equal(t, map[string]uint64{"MIG-1": 2000 * gputest.MiB}, meter.Read([]int{1}))
	_, disagree := meter.Sources("MIG-1")
	require.Empty(t, disagree)
	v.process = 1500 * gputest.MiB
	require.Equal(t, map[string]uint64{"MIG-1": 2000 * gputest.MiB}, meter.Read([]int{1}))
	_, disagree = meter.Sources("MIG-1")
	require.Equal(t, "memory of the server's processes says 1500 MiB, memory taken since the start, whole device 2000 MiB", disagree)
}
