//go:build !linux || !(amd64 || arm64)

package shm

import (
	"os"

	"triton/pkg/status"
)

// object is an opened shared memory object. It is supported where missing pages can be handled, see
// fault_linux.go: elsewhere shm_open is a function of the C library, not a path.
type object struct {
	file *os.File
	id   [2]uint64
	mem  []byte
}

func openObject(string) (*object, error) {
	return nil, status.New(status.Unsupported, "system shared memory is supported on Linux for amd64 and arm64 only")
}

func (o *object) size() (uint64, error) { return 0, nil }

func (o *object) holds(uint64) bool { return false }

func (o *object) open(uint64, uint64) string { return "" }

func (o *object) lost() bool { return false }

func (o *object) close() {}
