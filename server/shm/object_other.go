//go:build !linux

package shm

import (
	"os"

	"triton/pkg/status"
)

// object is an opened shared memory object. Only Linux is supported: elsewhere shm_open
// is a function of the C library, not a path.
type object struct {
	file *os.File
	id   [2]uint64
	mem  []byte
}

func openObject(string) (*object, error) {
	return nil, status.New(status.Unsupported, "system shared memory is supported on Linux only")
}

func (o *object) size() (uint64, error) { return 0, nil }

func (o *object) holds(uint64) bool { return false }

func (o *object) open(uint64, uint64) string { return "" }

func (o *object) close() {}
