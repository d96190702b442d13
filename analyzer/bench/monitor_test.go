package bench

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
	"triton/pkg/gpu"
)

// Utilization and power are means over time, the rest is the largest value; free memory is what the
// largest use left.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0.0
		failing := 0
		w := StartWatch(t.Context(),
			Source{func(context.Context) (Reading, error) {
				n++
				return Reading{GPUs: map[string]trial.Values{
					"A": {trial.GPUUsedMemory: 100 * n, trial.GPUTotalMemory: 1000, trial.GPUUtilization: 10 * n, trial.GPUPower: n},
					"B": {trial.GPUUsedMemory: 50, trial.GPUTotalMemory: 500},
				}}, nil
			}, time.Second},
			Source{func(context.Context) (Reading, error) {
				return Reading{Host: trial.Values{trial.CPUUsedRAM: 10}}, nil
			}, 2 * time.Second},
			Source{func(context.Context) (Reading, error) {
				failing++
				return Reading{}, errors.New("no page")
			}, time.Second})
		time.Sleep(3*time.Second + time.Millisecond)
		r, errs := w.Stop()
		require.Equal(t, 4.0, n, "at once, and three seconds")
		require.Equal(t, 4, failing)
		require.Equal(t, []error{errors.New("no page")}, errs, "a source reports its first error only")
		assert.Equal(t, map[string]trial.Values{
			"A": {trial.GPUUsedMemory: 400, trial.GPUTotalMemory: 1000, trial.GPUFreeMemory: 600, trial.GPUUtilization: 25, trial.GPUPower: 2.5},
			"B": {trial.GPUUsedMemory: 50, trial.GPUTotalMemory: 500, trial.GPUFreeMemory: 450},
		}, r.GPUs)
		assert.Contains(t, r.Host, trial.CPUUsedRAM)
	})
}

const page = `# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-1"} 0.5
nv_gpu_utilization{gpu_uuid="GPU-2"} 0.25
# TYPE nv_gpu_power_usage gauge
nv_gpu_power_usage{gpu_uuid="GPU-1"} 60.5
# TYPE nv_gpu_memory_used_bytes gauge
nv_gpu_memory_used_bytes{gpu_uuid="GPU-1"} 2000000000
nv_gpu_memory_total_bytes{gpu_uuid="GPU-1"} 8000000000
nv_cpu_utilization 0.5`

func TestPage(t *testing.T) {
	t.Parallel()
	status, text := http.StatusOK, page
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	for _, url := range []string{server.URL + "/metrics", strings.TrimPrefix(server.URL, "http://") + "/metrics"} {
		r, err := ReadPage(url)(t.Context())
		require.NoError(t, err)
		assert.Equal(t, map[string]trial.Values{
			"GPU-1": {trial.GPUUtilization: 50, trial.GPUPower: 60.5, trial.GPUUsedMemory: 2000, trial.GPUTotalMemory: 8000},
			"GPU-2": {trial.GPUUtilization: 25},
		}, r.GPUs)
	}
	text = "{"
	_, err := ReadPage(server.URL)(t.Context())
	require.ErrorContains(t, err, "the server's metrics: ")
	status = http.StatusNotFound
	_, err = ReadPage(server.URL)(t.Context())
	require.ErrorContains(t, err, "404 Not Found")
	server.Close()
	_, err = ReadPage(server.URL)(t.Context())
	require.ErrorContains(t, err, "read the server's metrics: ")
}

// device is a view of one GPU without a power meter.
type device struct{ gpu.View }

func (device) Read(gpu.Device) gpu.Reading {
	return gpu.Reading{MemoryTotal: gpu.Some[uint64](8e9), MemoryUsed: gpu.Some[uint64](2e9), Utilization: gpu.Some(0.5)}
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	r, err := ReadGPUs(device{}, []gpu.Device{{UUID: "GPU-1"}})(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]trial.Values{
		"GPU-1": {trial.GPUUtilization: 50, trial.GPUUsedMemory: 2000, trial.GPUTotalMemory: 8000},
	}, r.GPUs)
}

// proc writes files of /proc.
func proc(t *testing.T, files map[string]string) meter.FS {
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, "proc", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return meter.FS{Root: root}
}

func TestHost(t *testing.T) {
	t.Parallel()
	fs := proc(t, map[string]string{
		"10/smaps_rollup":        "00400000-7fff r--p 00000000 00:00 0 [rollup]\nRss: 9000 kB\nPrivate_Clean: 1000 kB\nPrivate_Dirty: 3000 kB\n",
		"10/task/10/children":    "11 12",
		"11/smaps_rollup":        "Private_Dirty: 1000 kB\nPrivate_Hugetlb: 1000 kB\n",
		"meminfo":                "MemTotal: 9999 kB\nMemAvailable: 5000 kB\n",
		"20/unreadable/children": "",
	})
	r, err := ReadHost(fs, func() []int { return []int{10} })(t.Context())
	require.NoError(t, err)
	assert.Equal(t, trial.Values{trial.CPUUsedRAM: 6.144, trial.CPUAvailableRAM: 5.12}, r.Host, "with its child; the other one has ended")
	_, err = ReadHost(fs, func() []int { return []int{20} })(t.Context())
	require.ErrorIs(t, err, errNoProcess)
	_, err = ReadHost(fs, func() []int { return nil })(t.Context())
	require.ErrorIs(t, err, errNoProcess)
}
