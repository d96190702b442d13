package server

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"triton/server/repository/ondemand"
)

func TestParseBudget(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Budget{
		"8GiB":         {Device: ondemand.Host, Bytes: 8 << 30},
		"1.5MiB":       {Device: ondemand.Host, Bytes: 3 << 19},
		"cpu=100":      {Device: ondemand.Host, Bytes: 100},
		"100B":         {Device: ondemand.Host, Bytes: 100},
		"2GB":          {Device: ondemand.Host, Bytes: 2e9},
		"60%":          {Device: ondemand.Host, Share: 0.6},
		"gpu:1=20 GiB": {Device: "gpu:1", Bytes: 20 << 30},
		"gpu:0=12.5%":  {Device: "gpu:0", Share: 0.125},
	} {
		b, err := ParseBudget(text)
		require.NoError(t, err, text)
		require.Equal(t, want, b, text)
	}
	for text, want := range map[string]string{
		"gpu=1GiB":   "unknown device 'gpu' in memory budget 'gpu=1GiB', expects cpu or gpu:<index>",
		"gpu:x=1GiB": "unknown device 'gpu:x' in memory budget 'gpu:x=1GiB', expects cpu or gpu:<index>",
	} {
		_, err := ParseBudget(text)
		require.EqualError(t, err, want)
	}
	for _, text := range []string{"", "0", "-1GiB", "0%", "101%", "x", "1XiB", "1GiBB", "1e40TiB", "NaN", "cpu="} {
		_, err := ParseBudget(text)
		require.EqualError(t, err, "invalid memory budget '"+text+"', expects [<device>=]<amount> such as 8GiB, 60% or gpu:0=20GiB")
	}
}

// TestAvailableMemory: the least of what the machine and the control groups have left.
func TestAvailableMemory(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{"proc/meminfo": file("MemTotal: 1000 kB\nMemAvailable: 600 kB\n")}
	require.EqualValues(t, 600<<10, availableMemory(root))
	root["proc/self/cgroup"] = file("0::/a/b\n")
	root["sys/fs/cgroup/a/b/memory.max"] = file("max\n")
	root["sys/fs/cgroup/a/b/memory.current"] = file("1\n")
	require.EqualValues(t, 600<<10, availableMemory(root), "no limit")
	root["sys/fs/cgroup/a/memory.max"] = file("409600\n")
	root["sys/fs/cgroup/a/memory.current"] = file("204800\n")
	require.EqualValues(t, 200<<10, availableMemory(root))
	root["sys/fs/cgroup/a/memory.stat"] = file("anon 5\ninactive_file 102400\n")
	require.EqualValues(t, 300<<10, availableMemory(root), "pages of files can be dropped")
	root["sys/fs/cgroup/a/memory.current"] = file("999999999\n")
	require.Zero(t, availableMemory(root), "above the limit")
	require.Zero(t, availableMemory(fstest.MapFS{}))
	v1 := fstest.MapFS{
		"proc/meminfo": root["proc/meminfo"], "proc/self/cgroup": file("4:memory:/a\n"),
		"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("409600\n"), "sys/fs/cgroup/memory/a/memory.usage_in_bytes": file("307200\n"),
		"sys/fs/cgroup/memory/a/memory.stat": file("total_inactive_file 1024\n"),
	}
	require.EqualValues(t, 101<<10, availableMemory(v1))
}
