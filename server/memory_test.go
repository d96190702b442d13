package server

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal: 8192 kB\nMemAvailable: 4096 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known": {nil, 0},
		"no groups":     {map[string]string{"proc/meminfo": meminfo}, 8 << 20},
		"no limit": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 8 << 20},
		"a limit above": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n",
			"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "1048576\n",
		}, 1 << 20},
		"version 1": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/x\n5:memory:/a\nodd\n",
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": "2097152\n",
		}, 2 << 20},
		"more than there is": {map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "5:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 8 << 20},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		require.Equal(t, c.want, memoryLimit(root), name)
	}
}
