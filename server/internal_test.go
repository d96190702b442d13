package server

import (
	"io/fs"
	"math"
	"runtime"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func files(pairs ...string) fs.FS {
	m := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return m
}

func TestQuota(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		root fs.FS
		want float64
	}{
		{"no control groups", files(), 0},
		{"version 2, no limit", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/cpu.max", "max 100000\n"), 0},
		{"version 2", files("proc/self/cgroup", "0::/a\n", "sys/fs/cgroup/a/cpu.max", "150000 100000\n"), 1.5},
		{"version 2, in a container", files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/cpu.max", "400000 100000\n"), 4},
		{"version 2, tighter above", files("proc/self/cgroup", "0::/a/b\n", "sys/fs/cgroup/a/cpu.max", "50000 100000\n", "sys/fs/cgroup/a/b/cpu.max", "200000 100000\n"), 0.5},
		{"version 1", files("proc/self/cgroup", "4:cpu,cpuacct:/d\n1:name=systemd:/d\n",
			"sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_quota_us", "250000\n", "sys/fs/cgroup/cpu,cpuacct/d/cpu.cfs_period_us", "100000\n"), 2.5},
		{"version 1, no limit", files("proc/self/cgroup", "4:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"), 0},
		{"odd text", files("proc/self/cgroup", "0::/\nx\n", "sys/fs/cgroup/cpu.max", "1 2 3"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.InDelta(t, c.want, quota(c.root), 1e-9)
		})
	}
	require.Equal(t, 1, cpus(files("proc/self/cgroup", "0::/\n", "sys/fs/cgroup/cpu.max", "10000 100000")))
	require.Equal(t, runtime.NumCPU(), cpus(files()))
}

func TestReadCPU(t *testing.T) {
	t.Parallel()
	m := &machine{cpu: true}
	values := func(root fs.FS) map[string]float64 {
		m.root = root
		got := map[string]float64{}
		for _, r := range m.readCPU(nil) {
			got[r.name] = r.value
		}
		return got
	}
	memory := []string{"proc/meminfo", "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:  400 kB\n"}
	got := values(files(append(memory, "proc/stat", "cpu  10 10 10 100 10 0 0 0 0 0\ncpu0 1\n")...))
	require.Equal(t, map[string]float64{"nv_cpu_utilization": 0, "nv_cpu_memory_total_bytes": 1024000, "nv_cpu_memory_used_bytes": 614400}, got)
	got = values(files(append(memory, "proc/stat", "cpu  20 10 15 115 10 5 0 5 0 0\n")...))
	require.InDelta(t, 25.0/40, got["nv_cpu_utilization"], 1e-9)
	got = values(files(append(memory, "proc/stat", "cpu  30 10 15 125 3 5 0 5 0 0\n")...))
	require.InDelta(t, 10.0/20, got["nv_cpu_utilization"], 1e-9, "iowait may go back")
	require.Empty(t, values(files()), "without /proc there are no such metrics")
	for _, stat := range []string{"", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3 4 5 6 7 x"} {
		require.Empty(t, values(files("proc/stat", stat, "proc/meminfo", "MemTotal: 1 kB\nMemAvailable: 2 kB\n")))
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{
		"0": 0, "1234567": 1234567, "85899345920": 85899345920, "0.25": 0.25, "0.000001": 1e-6,
		"+Inf": math.Inf(1), "-Inf": math.Inf(-1), "Nan": math.NaN(), "100000000000000000000000": 1e23,
	} {
		require.Equal(t, want, string(appendNumber(nil, v)))
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "+-------+---+\n| Model | V |\n+-------+---+\n| é     | 1 |\n+-------+---+\n",
		table([][]string{{"Model", "V"}, {"é", "1"}}))
}
