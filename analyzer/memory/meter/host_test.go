package meter_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/meter"
)

// tree writes files under a new root.
func tree(t *testing.T, files map[string]string) meter.FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return meter.FS{Root: root}
}

// rollup returns the sums of a process that maps 100 MiB of a library with some neighbors.
func rollup(neighbors int) string {
	kB := func(n int) string { return strconv.Itoa(n) + " kB\n" }
	const library = 100 << 10
	clean, private := "Shared_Clean:  "+kB(library), "Private_Clean:  "+kB(0)
	if neighbors == 0 {
		clean, private = "Shared_Clean:  "+kB(0), "Private_Clean:  "+kB(library)
	}
	return "55f0-7fff ---p 00000000 00:00 0    [rollup]\n" +
		"Rss:  " + kB(library+3000) + "Pss:  " + kB(library/(1+neighbors)+3000) +
		"Pss_Anon:  " + kB(2000) + "Pss_File:  " + kB(library/(1+neighbors)) + "Pss_Shmem:  " + kB(1000) +
		clean + private + "Anonymous:  " + kB(2500) + "SwapPss:  " + kB(24)
}

// TestNeighborsChangeNothing reads a process whose proportional set size shrinks because another
// process maps the same library.
func TestNeighborsChangeNothing(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{"proc/7/smaps_rollup": rollup(0), "proc/8/smaps_rollup": rollup(3)})
	alone, err := p.Process(7)
	require.NoError(t, err)
	require.Equal(t, meter.Memory{Anonymous: 2024 << 10, Shared: 1000 << 10, RSS: (100<<10 + 3000) << 10}, alone)
	require.EqualValues(t, 3024<<10, alone.Own())
	crowded, err := p.Process(8)
	require.NoError(t, err)
	require.Equal(t, alone, crowded)

	sum, err := p.Processes([]int{7, 8, 9})
	require.NoError(t, err)
	require.EqualValues(t, 2*3024<<10, sum.Own())
	_, err = p.Processes([]int{9})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{"proc/7/smaps": `1000-2000 r-xp 00000000 fe:00 247278    /usr/lib/engine.so
Rss:  40 kB
Private_Clean:  32 kB
Private_Dirty:  8 kB
Anonymous:  8 kB
VmFlags: rd ex
2000-3000 rw-p 00000000 00:00 0
Private_Dirty:  999 kB
Anonymous:  999 kB
3000-4000 rw-s 00000000 00:01 99    /dev/shm/region
Private_Dirty:  500 kB
4000-5000 r--s 00000000 fe:00 5    /models/big weights.bin
Private_Clean:  64 kB
5000-6000 r--s 00000000 fe:00 6    /models/shared.bin
Shared_Clean:  640 kB
`})
	bytes, err := p.Files(7)
	require.NoError(t, err)
	require.EqualValues(t, (32+64)<<10, bytes)
}

func TestTree(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{
		"proc/7/task/7/children": "8 9 ", "proc/8/task/8/children": "", "proc/9/task/9/children": "10",
	})
	require.Equal(t, []int{7, 8, 9, 10}, p.Tree(7))
}

// TestAvailable checks that what others use is not available: neither the total memory of the
// machine nor the limit of the group is the answer.
func TestAvailable(t *testing.T) {
	t.Parallel()
	const machine, group = "available memory of this machine", "what is left in the control group"
	for name, c := range map[string]struct {
		files map[string]string
		bytes uint64
		from  string
	}{
		"machine only": {nil, 600 << 10, machine},
		"no limit": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "max\n",
		}, 600 << 10, machine},
		"nearest ancestor": {map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "900000\n", "sys/fs/cgroup/a/memory.max": "500000\n",
		}, 500000, group},
		"others in the group": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "400000\n", "sys/fs/cgroup/memory.current": "300000\n",
			"sys/fs/cgroup/memory.stat": "file 7\ninactive_file 100000\n",
		}, 200000, group},
		"full": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "4096\n", "sys/fs/cgroup/memory.current": "8192\n",
		}, 0, group},
		"version 1": {map[string]string{
			"proc/self/cgroup":                             "3:cpu,cpuacct:/x\n2:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "8192\n",
			"sys/fs/cgroup/memory/x/memory.usage_in_bytes": "5000\n",
			"sys/fs/cgroup/memory/x/memory.stat":           "total_inactive_file 1000\n",
		}, 4192, group},
		"larger than the machine": {map[string]string{
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "99999999999\n",
		}, 600 << 10, machine},
	} {
		files := map[string]string{"proc/meminfo": "MemTotal:       1000 kB\nMemFree: 10 kB\nMemAvailable:   600 kB\n"}
		for k, v := range c.files {
			files[k] = v
		}
		room, err := tree(t, files).Available()
		require.NoError(t, err, name)
		require.Equal(t, meter.HostRoom{Bytes: c.bytes, Origin: c.from}, room, name)
	}
	_, err := tree(t, nil).Available()
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = tree(t, map[string]string{"proc/meminfo": "MemTotal: 5 kB\n"}).Available()
	require.ErrorContains(t, err, "has no MemAvailable")
}

func TestCPUTime(t *testing.T) {
	t.Parallel()
	fs := tree(t, map[string]string{
		"proc/7/stat": "7 (a (b) c) S 1 7 7 0 -1 4194304 100 0 0 0 150 50 9 9 20 0 1 0\n",
		"proc/8/stat": "8 (x) S 1 8 8 0 -1 0 0 0 0 0 1 2 0 0 20 0 1 0\n",
		"proc/9/stat": "9 (x) S\n",
	})
	sum, err := fs.CPUTime(7, 8)
	require.NoError(t, err)
	require.Equal(t, 2030*time.Millisecond, sum, "user and system")
	_, err = fs.CPUTime(9)
	require.ErrorContains(t, err, "unknown form of /proc/PID/stat")
	_, err = fs.CPUTime(10)
	require.Error(t, err)
}

func TestKills(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 3, tree(t, map[string]string{
		"proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.events": "low 0\noom 4\noom_kill 3\n",
	}).Kills())
	require.EqualValues(t, 2, tree(t, map[string]string{
		"proc/self/cgroup": "4:memory:/x\n", "sys/fs/cgroup/memory/x/memory.oom_control": "under_oom 0\noom_kill 2\n",
	}).Kills())
	require.EqualValues(t, 5, tree(t, map[string]string{"proc/vmstat": "pgfault 7\noom_kill 5\n"}).Kills())
	require.Zero(t, tree(t, nil).Kills())
}

// TestThisMachine reads the real files: memory that a child takes is its own.
func TestThisMachine(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	child := exec.CommandContext(t.Context(), "sleep", "60")
	require.NoError(t, child.Start())
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	var p meter.FS
	m, err := p.Process(child.Process.Pid)
	require.NoError(t, err)
	require.NotZero(t, m.Anonymous)
	require.Less(t, m.Anonymous, uint64(16<<20))
	_, err = p.Files(child.Process.Pid)
	require.NoError(t, err)
	require.Contains(t, p.Tree(os.Getpid()), child.Process.Pid)
	room, err := p.Available()
	require.NoError(t, err)
	require.NotZero(t, room.Bytes)
}
