package server

import (
	"strconv"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/memory"
)

// TestRequestMemoryOfGroups: the budget is half of what the tightest group leaves, also when that is
// the group's parent, of both versions. It follows what the models take.
func TestRequestMemoryOfGroups(t *testing.T) {
	t.Parallel()
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const gib = 1 << 30
	for name, c := range map[string]struct{ group, limit, usage, stat, active string }{
		"version 2":             {"0::/a", "sys/fs/cgroup/a/memory.max", "sys/fs/cgroup/a/memory.current", "sys/fs/cgroup/a/memory.stat", "active_file"},
		"a parent in version 2": {"0::/a/b/c", "sys/fs/cgroup/a/memory.max", "sys/fs/cgroup/a/memory.current", "sys/fs/cgroup/a/memory.stat", "active_file"},
		"version 1": {
			"4:memory:/a/b", "sys/fs/cgroup/memory/a/memory.limit_in_bytes", "sys/fs/cgroup/memory/a/memory.usage_in_bytes",
			"sys/fs/cgroup/memory/a/memory.stat", "total_active_file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := fstest.MapFS{
				"proc/meminfo":     file("MemTotal: 67108864 kB\nMemAvailable: 60000000 kB\n"),
				"proc/self/cgroup": file(c.group + "\n"), c.limit: file(strconv.Itoa(8 * gib)),
				// 3 GiB of it are pages of files, which can be dropped.
				c.usage: file(strconv.Itoa(5 * gib)), c.stat: file(c.active + " " + strconv.Itoa(3*gib) + "\n"),
			}
			m := newRequestMemory(&Options{})
			m.root, m.pools = root, func() []*tensor.Pool { return nil }
			m.look()
			const left = 8*gib*0.85 - 2*gib
			require.InEpsilon(t, left/2, m.budget.Limit(), 0.01)
			root[c.usage] = file(strconv.Itoa(6 * gib)) // a model was loaded
			m.look()
			require.InEpsilon(t, (left-gib)/2, m.budget.Limit(), 0.01)
			m.budget.Add(memory.Tensors, gib) // while requests are served, it only falls
			root[c.usage] = file(strconv.Itoa(5 * gib))
			m.look()
			require.InEpsilon(t, (left-gib)/2, m.budget.Limit(), 0.01)
			m.budget.Return(memory.Tensors, gib)
			m.look()
			require.InEpsilon(t, left/2, m.budget.Limit(), 0.01)
			root[c.usage] = file(strconv.Itoa(11 * gib))
			m.look()
			require.EqualValues(t, gib/2, m.budget.Limit(), "the least")
		})
	}
}

// TestRequestMemoryIsSet: a budget of the options does not follow the memory.
func TestRequestMemoryIsSet(t *testing.T) {
	t.Parallel()
	m := newRequestMemory(&Options{RequestMemory: 12345678})
	m.pools = func() []*tensor.Pool { return nil }
	m.look()
	require.EqualValues(t, 12345678, m.budget.Limit())
}
