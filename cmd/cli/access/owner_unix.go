//go:build unix

package access

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the user and the group of the one that it replaces.
func keepOwner(next *os.File, replaced fs.FileInfo) error {
	info, err := next.Stat()
	if err != nil {
		return err
	}
	is, known := info.Sys().(*syscall.Stat_t)
	was, also := replaced.Sys().(*syscall.Stat_t)
	if !known || !also || is.Uid == was.Uid && is.Gid == was.Gid {
		return nil
	}
	return next.Chown(int(was.Uid), int(was.Gid))
}
