package server

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// memoryLimit returns how many bytes of memory the process may use: the memory of the
// machine, or the lowest limit of its control groups. It is 0 if that is not known.
func memoryLimit(root fs.FS) int64 {
	total, _, err := readMemory(root)
	if err != nil {
		return 0
	}
	least := int64(total)
	tighten := func(file ...string) {
		b, err := fs.ReadFile(root, path.Join(file...))
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // not "max"
			least = min(least, n)
		}
	}
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "": // version 2
			climb(parts[2], func(dir string) { tighten("sys/fs/cgroup", dir, "memory.max") })
		case hasField(parts[1], "memory"):
			climb(parts[2], func(dir string) { tighten("sys/fs/cgroup/memory", dir, "memory.limit_in_bytes") })
		}
	}
	return least
}
