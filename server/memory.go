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
		limitFile, usageFile, inactive := "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
		if v2 {
			limitFile, usageFile, inactive = "memory.max", "memory.current", "inactive_file"
		}
		limit, limited := readNumber(root, path.Join(dir, limitFile))
		usage, known := readNumber(root, path.Join(dir, usageFile))
		if !limited || !known {
			return
		}
		stat, _ := fs.ReadFile(root, path.Join(dir, "memory.stat"))
		for line := range strings.Lines(string(stat)) {
			if f := strings.Fields(line); len(f) == 2 && f[0] == inactive {
				n, _ := strconv.ParseInt(f[1], 10, 64)
				usage -= min(usage, n)
			}
		}
		least = min(least, max(limit-usage, 0))
	})
	return least
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
