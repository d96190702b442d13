//go:build !linux

package perf

import (
	"errors"
	"os"
)

// folder does not exist: the objects of other systems are not files.
const folder = "/dev/shm"

var errLinux = errors.New("system shared memory needs Linux")

func allocate(*os.File, int64) error { return errLinux }

func lock(*os.File) error { return errLinux }
