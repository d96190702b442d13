package server

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
	"triton/pkg/tensor"
	"triton/server/backend"
)

// fakeView is one GPU.
type fakeView struct {
	gpu.View
	reading gpu.Reading
}

func (f *fakeView) Devices() []gpu.Device {
	return []gpu.Device{{Index: 0, UUID: "GPU-1", Name: "Fake"}}
}
func (f *fakeView) Read(gpu.Device) gpu.Reading { return f.reading }

func machineOf(view gpu.View, log *slog.Logger) *machine {
	return &machine{pool: tensor.NewPool(), gpus: newGPUMeters(gpus{view}, log), log: log}
}

// text returns the text of the endpoint for a machine.
func text(t *testing.T, m *machine) string {
	t.Helper()
	m.firstRead.Do(func() {}) // the test did
	var order []string
	for _, p := range polledMetrics {
		order = append(order, p.name)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(m)
	f := &metricsFrontend{registry: reg, modelMetrics: backend.NewMetrics(nil), machine: m, order: order}
	return string(f.page())
}

func TestGPUMetrics(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	view := &fakeView{reading: gpu.Reading{
		Utilization: gpu.Some(0.25), MemoryTotal: gpu.Some(uint64(85899345920)), MemoryUsed: gpu.Some(uint64(12345678901)),
		Power: gpu.Some(61.5), Energy: gpu.Some(1e9),
	}}
	m := machineOf(view, slog.New(slog.NewTextHandler(&logged, nil)))
	require.Contains(t, logged.String(), `"Collecting metrics for GPU 0: Fake"`)
	m.read()
	view.reading.Energy = gpu.Some(1e9 + 2500)
	m.read()
	require.Equal(t, `# HELP nv_energy_consumption GPU energy consumption in joules since the Triton Server started
# TYPE nv_energy_consumption counter
nv_energy_consumption{gpu_uuid="GPU-1"} 2500
# HELP nv_pinned_memory_pool_total_bytes Pinned memory pool total memory size, in bytes
# TYPE nv_pinned_memory_pool_total_bytes gauge
nv_pinned_memory_pool_total_bytes 0
# HELP nv_pinned_memory_pool_used_bytes Pinned memory pool used memory size, in bytes
# TYPE nv_pinned_memory_pool_used_bytes gauge
nv_pinned_memory_pool_used_bytes 0
# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.25
# HELP nv_gpu_memory_total_bytes GPU total memory, in bytes
# TYPE nv_gpu_memory_total_bytes gauge
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 85899345920
# HELP nv_gpu_memory_used_bytes GPU used memory, in bytes
# TYPE nv_gpu_memory_used_bytes gauge
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 12345678901
# HELP nv_gpu_power_usage GPU power usage in watts
# TYPE nv_gpu_power_usage gauge
nv_gpu_power_usage{gpu_uuid="GPU-1"} 61.5
# HELP nv_gpu_power_limit GPU power management limit in watts
# TYPE nv_gpu_power_limit gauge
nv_gpu_power_limit{gpu_uuid="GPU-1"} 0
`, text(t, m))
}

// TestGPUFailures: a group of values that cannot be read is zero, and after three failures in a
// row it is not read again. The other groups are.
func TestGPUFailures(t *testing.T) {
	t.Parallel()
	var logged bytes.Buffer
	good := gpu.Reading{
		Utilization: gpu.Some(0.5), MemoryTotal: gpu.Some(uint64(100)), MemoryUsed: gpu.Some(uint64(50)),
		Power: gpu.Some(60.0), PowerLimit: gpu.Some(300.0), Energy: gpu.Some(1000.0),
	}
	view := &fakeView{reading: good}
	m := machineOf(view, slog.New(slog.NewTextHandler(&logged, nil)))
	value := func(name string) string {
		m.read()
		return regexp.MustCompile(`(?m)^` + name + `\{.*\} (.*)$`).FindStringSubmatch(text(t, m))[1]
	}
	require.Equal(t, "60", value("nv_gpu_power_usage"))
	view.reading.Power = gpu.Optional[float64]{}
	require.Equal(t, "0", value("nv_gpu_power_usage"))
	require.Equal(t, "0", value("nv_gpu_power_usage"))
	view.reading.Power = good.Power
	require.Equal(t, "60", value("nv_gpu_power_usage"), "two failures are forgiven")
	view.reading.Power, view.reading.MemoryUsed = gpu.Optional[float64]{}, gpu.Optional[uint64]{}
	for range 5 {
		require.Equal(t, "0", value("nv_gpu_power_usage"))
	}
	view.reading = good
	require.Equal(t, "0", value("nv_gpu_power_usage"), "three are not")
	require.Equal(t, "0", value("nv_gpu_memory_total_bytes"))
	require.Equal(t, "0.5", value("nv_gpu_utilization"))
	require.Equal(t, 5, strings.Count(logged.String(), "Unable to get power usage for GPU 0"))
	require.Equal(t, 3, strings.Count(logged.String(), "Unable to get memory usage for GPU 0"))

	view.reading.Energy = gpu.Some(400.0)
	require.Equal(t, "0", value("nv_energy_consumption"), "a counter never falls")
	view.reading.Energy = gpu.Some(900.0)
	require.Equal(t, "500", value("nv_energy_consumption"))
}

// TestPinnedMemory: the metrics of Triton's pool of pinned memory show the pool of tensor memory.
func TestPinnedMemory(t *testing.T) {
	t.Parallel()
	m := machineOf(nil, slog.New(slog.DiscardHandler))
	b := m.pool.Get(3000) // of a class of 4096, cut from a slab of 1 MiB
	m.read()
	require.Contains(t, text(t, m), "\nnv_pinned_memory_pool_total_bytes 1048576\n")
	require.Contains(t, text(t, m), "\nnv_pinned_memory_pool_used_bytes 4096\n")
	b.Release()
	m.read()
	require.Contains(t, text(t, m), "\nnv_pinned_memory_pool_used_bytes 0\n")
}

// TestParsers reads GPU and CPU metrics as programs do that are written for
// Triton: perf_analyzer by a regular expression that ends at an exponent, and
// Triton's own tests.
func TestParsers(t *testing.T) {
	t.Parallel()
	view := &fakeView{reading: gpu.Reading{
		Utilization: gpu.Some(0.07), MemoryTotal: gpu.Some(uint64(85899345920)), MemoryUsed: gpu.Some(uint64(8589934592000)),
		Power: gpu.Some(0.0000061), PowerLimit: gpu.Some(300.0), Energy: gpu.Some(1e9),
	}}
	m := machineOf(view, slog.New(slog.DiscardHandler))
	m.cpu, m.root = true, files("proc/stat", "cpu  10 10 10 100 10 0 0 0 0 0\n",
		"proc/meminfo", "MemTotal:  263856220 kB\nMemFree: 1 kB\nMemAvailable:  63856221 kB\n")
	m.read()
	m.root = files("proc/stat", "cpu  20 10 15 115 10 5 0 5 0 0\n", "proc/meminfo", "MemTotal: 263856220 kB\nMemAvailable: 63856221 kB\n")
	m.read()
	page := text(t, m)
	for _, c := range []struct{ pattern, want string }{
		{`\nnv_gpu_utilization\{gpu_uuid="GPU-1"\} (\d+\.?\d*)`, "0.07"},
		{`\nnv_gpu_power_usage\{gpu_uuid="GPU-1"\} (\d+\.?\d*)`, "0.0000061"},
		{`\nnv_gpu_memory_used_bytes\{gpu_uuid="GPU-1"\} (\d+\.?\d*)`, "8589934592000"},
		{`\nnv_gpu_memory_total_bytes\{gpu_uuid="GPU-1"\} (\d+\.?\d*)`, "85899345920"},
		{`nv_cpu_utilization (\d+\.?\d*)`, "0.625"},
		{`nv_cpu_memory_used_bytes (\d+)`, "204799998976"},
		{`nv_cpu_memory_total_bytes (\d+)`, "270188769280"},
	} {
		got := regexp.MustCompile(c.pattern).FindStringSubmatch(page)
		require.Len(t, got, 2, c.pattern)
		require.Equal(t, c.want, got[1])
	}
	require.Len(t, regexp.MustCompile(`(?m)^nv_gpu_utilization\{`).FindAllString(page, -1), 1)
}

func TestNoProc(t *testing.T) {
	t.Parallel()
	m := machineOf(nil, slog.New(slog.DiscardHandler))
	m.cpu, m.root = true, os.DirFS(t.TempDir())
	m.read()
	require.NotContains(t, text(t, m), "nv_cpu")
}
