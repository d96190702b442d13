package analyzer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer"
)

// tree writes files under a new root.
func tree(t *testing.T, files map[string]string) analyzer.ProcFS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return analyzer.ProcFS{Root: root}
}

func TestProcess(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{
		"proc/7/smaps_rollup": "55f0-7fff ---p 00000000 00:00 0    [rollup]\n" +
			"Rss:                1728 kB\nPss:                 221 kB\nPss_Dirty:           112 kB\n",
		"proc/7/task/7/children": "8 9 ",
		"proc/7/task/8/children": "",
		"proc/9/task/9/children": "10",
	})
	m, err := p.Process(7)
	require.NoError(t, err)
	require.Equal(t, analyzer.HostMemory{PSS: 221 << 10, RSS: 1728 << 10}, m)
	_, err = p.Process(8)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.Equal(t, []int{7, 8, 9, 10}, p.Tree(7))
}

func TestLimit(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:       1000 kB\nMemFree: 10 kB\n"
	const machine, group = "memory of this machine", "memory limit of the control group"
	for name, c := range map[string]struct {
		files map[string]string
		bytes uint64
		from  string
	}{
		"machine only": {nil, 1000 << 10, machine},
		"no limit": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 1000 << 10, machine},
		"group above": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "900000\n", "sys/fs/cgroup/a/memory.max": "500000\n",
		}, 500000, group},
		"container": {map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4096\n"}, 4096, group},
		"version 1": {map[string]string{
			"proc/self/cgroup":                             "3:cpu,cpuacct:/x\n2:memory:/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "8192\n",
		}, 8192, group},
		"larger than the machine": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999\n",
		}, 1000 << 10, machine},
	} {
		files := map[string]string{"proc/meminfo": meminfo}
		for k, v := range c.files {
			files[k] = v
		}
		bytes, from, err := tree(t, files).Limit()
		require.NoError(t, err, name)
		require.Equal(t, c.bytes, bytes, name)
		require.Equal(t, c.from, from, name)
	}
	_, _, err := tree(t, nil).Limit()
	require.ErrorIs(t, err, os.ErrNotExist)
	_, _, err = tree(t, map[string]string{"proc/meminfo": "nothing\n"}).Limit()
	require.ErrorContains(t, err, "has no MemTotal")
}
