package perf

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// folder is where Linux keeps POSIX shared memory objects.
const folder = "/dev/shm"

// allocate gives a file memory for size bytes.
func allocate(f *os.File, size int64) error {
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// lock locks a file until it is closed, unless another process has locked it.
func lock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
