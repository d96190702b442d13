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
	controlGroups(root, "memory", func(dir string, v2 bool) {
		file := "memory.limit_in_bytes"
		if v2 {
			file = "memory.max"
		}
		b, err := fs.ReadFile(root, path.Join(dir, file))
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 { // not "max"
			least = min(least, n)
		}
	})
	return least
}

// availableMemory returns how many bytes this process may still take: what the kernel says is
// available on the machine or, if that is less, what is left in one of its control groups. Inactive
// pages of files count as left. It is 0 if that is not known.
func availableMemory(root fs.FS) int64 {
	total, used, err := readMemory(root)
	if err != nil {
		return 0
	}
	least := int64(total - used)
	controlGroups(root, "memory", func(dir string, v2 bool) {
		if g, ok := readMemoryGroup(root, dir, v2); ok {
			least = min(least, max(g.limit-(g.usage-min(g.usage, g.inactive)), 0))
		}
	})
	return least
}

// memoryGroup is a control group with a limit. inactive and active are the pages of files in its usage.
type memoryGroup struct{ limit, usage, inactive, active int64 }

// held returns the memory that cannot be taken from the group. Pages of files are read again when
// they are needed.
func (g *memoryGroup) held() int64 { return max(g.usage-g.inactive-g.active, 0) }

// readMemoryGroup reads a control group. It reports false if the group has no limit.
func readMemoryGroup(root fs.FS, dir string, v2 bool) (g memoryGroup, ok bool) {
	limit, usage, prefix := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_"
	if v2 {
		limit, usage, prefix = "memory.max", "memory.current", ""
	}
	var limited, known bool
	g.limit, limited = readNumber(root, path.Join(dir, limit))
	g.usage, known = readNumber(root, path.Join(dir, usage))
	if !limited || !known {
		return g, false
	}
	stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
	for line := range strings.Lines(string(stat)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case prefix + "inactive_file":
			g.inactive = n
		case prefix + "active_file":
			g.active = n
		}
	}
	return g, true
}

// memoryGroups returns the machine, as a group, and the control groups with a limit.
func memoryGroups(root fs.FS) []memoryGroup {
	var all []memoryGroup
	if total, used, err := readMemory(root); err == nil {
		all = append(all, memoryGroup{limit: int64(total), usage: int64(used)})
	}
	controlGroups(root, "memory", func(dir string, v2 bool) {
		if g, ok := readMemoryGroup(root, dir, v2); ok {
			all = append(all, g)
		}
	})
	return all
}

// readNumber reads a file with one positive number; false for "max" and for a file without one.
func readNumber(root fs.FS, name string) (int64, bool) {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n >= 0
}
