package store

import (
	"io/fs"
	"syscall"
)

// Changed is when a file's content or its inode was changed last, in Unix
// nanoseconds. The second tells of files that were replaced by older ones.
func Changed(info fs.FileInfo) int64 {
	t := info.ModTime().UnixNano()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		t = max(t, s.Ctim.Nano())
	}
	return t
}
