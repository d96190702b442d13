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
