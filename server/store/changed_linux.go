package store

import (
	"io/fs"
	"syscall"
)

// Changed returns when a file's content or its inode was changed last, in Unix nanoseconds. The
// time of the inode shows files that were replaced by older ones.
func Changed(info fs.FileInfo) int64 {
	t := info.ModTime().UnixNano()
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		t = max(t, s.Ctim.Nano())
	}
	return t
}
