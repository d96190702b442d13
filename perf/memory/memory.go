// Package memory allocates memory that a server on this machine opens too: objects of POSIX
// shared memory, and memory on a GPU. It does not register the memory with a server.
package memory

import (
	"errors"
	"fmt"

	"triton/pkg/cuda"
)

// Block is allocated memory.
type Block interface {
	Size() uint64
	// Write copies src to the memory that starts at offset, in bytes.
	Write(src []byte, offset uint64) error
	// Read fills dst from the memory that starts at offset, in bytes.
	Read(dst []byte, offset uint64) error
	// Close frees the memory. A server that has opened an object can still use it.
	Close() error
}

// Device is the GPU that memory is allocated on, as in perf_analyzer.
const Device = 0

// OpenGPU opens the CUDA driver of this machine.
func OpenGPU() (cuda.Allocator, error) {
	d, err := cuda.Open()
	if err != nil {
		return nil, err
	}
	a, ok := d.(cuda.Allocator)
	if !ok {
		return nil, errors.New("the CUDA driver shares no memory")
	}
	return a, nil
}

// DeviceBlock is memory on a GPU. Other processes open it by its handle.
type DeviceBlock struct {
	cuda.Memory
	Handle cuda.Handle
}

var _ Block = (*DeviceBlock)(nil)

// OnGPU allocates memory on the GPU Device.
func OnGPU(a cuda.Allocator, size uint64) (*DeviceBlock, error) {
	m, h, err := a.Allocate(Device, size)
	if err != nil {
		return nil, fmt.Errorf("unable to allocate memory of %d bytes on gpu: %w", size, err)
	}
	return &DeviceBlock{m, h}, nil
}
