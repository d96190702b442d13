package perf

import (
	"errors"
	"fmt"

	"triton/pkg/cuda"
)

// block is allocated memory that a server on this machine opens too: an object of POSIX shared memory, or memory on a
// GPU. It is not registered with a server here.
type block interface {
	Size() uint64
	// Write copies src to the memory that starts at offset, in bytes.
	Write(src []byte, offset uint64) error
	// Read fills dst from the memory that starts at offset, in bytes.
	Read(dst []byte, offset uint64) error
	// Close frees the memory. A server that has opened an object can still use it.
	Close() error
}

// gpuDevice is the GPU that memory is allocated on, as in perf_analyzer.
const gpuDevice = 0

// openGPU opens the CUDA driver of this machine.
func openGPU() (cuda.Allocator, error) {
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

// deviceBlock is memory on a GPU. Other processes open it by its handle.
type deviceBlock struct {
	cuda.Memory
	Handle cuda.Handle
}

var _ block = (*deviceBlock)(nil)

// allocateOnGPU allocates memory on the GPU gpuDevice.
func allocateOnGPU(a cuda.Allocator, size uint64) (*deviceBlock, error) {
	m, h, err := a.Allocate(gpuDevice, size)
	if err != nil {
		return nil, fmt.Errorf("unable to allocate memory of %d bytes on gpu: %w", size, err)
	}
	return &deviceBlock{m, h}, nil
}
