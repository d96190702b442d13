//go:build unix

package offline

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock locks a file until it is closed. It fails at once if another process has locked it.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
