//go:build unix

package fleet

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file until it is closed. It fails at once if another writer has locked it.
func tryLock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
