//go:build unix

package process

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and the group of the former one, if they differ.
func keepOwner(f *os.File, former fs.FileInfo) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	now, ok1 := info.Sys().(*syscall.Stat_t)
	then, ok2 := former.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || now.Uid == then.Uid && now.Gid == then.Gid {
		return nil
	}
	return f.Chown(int(then.Uid), int(then.Gid))
}
