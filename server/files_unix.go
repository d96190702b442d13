//go:build unix

package server

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Connections leave a quarter of the file descriptors, within these bounds, for model files and
// child processes: a Python model that is started again needs several. They also leave the share of regions.
const (
	minReservedFiles = 64
	maxReservedFiles = 4096
	minConnections   = 16
)

// maxRegions returns how many regions of shared memory the limit of open files leaves room for; 0: any number.
func maxRegions() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 0
	}
	return regionsWithin(int(min(uint64(files.Cur), 1<<24))) //nolint:unconvert // int64 on FreeBSD
}

// regionsWithin returns how many regions, each of which holds a file descriptor, may be registered: an eighth,
// and what package shm can keep.
func regionsWithin(files int) int { return min(files/8, 1<<14) }

// maxConnections returns how many connections the limit of open files leaves room for, besides
// what is open now; 0: any number. Go has raised the soft limit to the hard one.
func maxConnections() int {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return 0
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		open, _ = os.ReadDir("/dev/fd")
	}
	return connectionsWithin(uint64(files.Cur), len(open)) //nolint:unconvert // int64 on FreeBSD
}

// connectionsWithin returns how many connections fit if that many files are open.
func connectionsWithin(files uint64, open int) int {
	limit := int(min(files, 1<<24)) // some systems say infinity
	reserve := min(max(limit/4, minReservedFiles), maxReservedFiles)
	return max(limit-reserve-regionsWithin(limit)-open, minConnections)
}

func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
