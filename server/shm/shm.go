// Package shm is the shared memory that clients register: system regions by
// name of a POSIX object, CUDA regions by IPC handle. Requests read inputs from
// a region and have outputs written to it without the bytes crossing a socket.
// A region lives until it is unregistered and no request uses it any more.
package shm

import (
	"sync"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Options are the settings of a Manager.
type Options struct {
	// Allow is --allow-client-shm: without it nothing can be registered.
	Allow bool
}

// Manager is the regions of one server. It is safe for concurrent use.
type Manager struct {
	opts Options
	mu   struct {
		sync.Mutex
	}
}

var _ kserve.Regions = (*Manager)(nil)

// New makes a manager without regions.
func New(o Options) *Manager { return &Manager{opts: o} }

// System is one registered system region.
type System struct {
	Name, Key    string
	Offset, Size uint64
}

// CUDA is one registered CUDA region.
type CUDA struct {
	Name   string
	Device uint64
	Size   uint64
}

var errDisabled = status.New(status.Unsupported,
	"Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.")

// RegisterSystem maps size bytes at offset of the POSIX object key.
func (m *Manager) RegisterSystem(name, key string, offset, size uint64) error { return errDisabled }

// RegisterCUDA opens a 64-byte cudaIpcMemHandle_t.
func (m *Manager) RegisterCUDA(name string, handle []byte, device, size uint64) error {
	return errDisabled
}

// UnregisterSystem forgets a region, or all of the kind when name is empty. It
// goes when the last request that uses it is done.
func (m *Manager) UnregisterSystem(name string) error { return errDisabled }

// UnregisterCUDA is the same for CUDA regions.
func (m *Manager) UnregisterCUDA(name string) error { return errDisabled }

// SystemStatus is a region, or all of the kind by name when name is empty.
func (m *Manager) SystemStatus(name string) ([]System, error) { return nil, nil }

// CUDAStatus is the same for CUDA regions.
func (m *Manager) CUDAStatus(name string) ([]CUDA, error) { return nil, nil }

// Find is size bytes at offset of a region, whatever its kind. The caller owns
// the segment's reference.
func (m *Manager) Find(region string, offset, size uint64) (tensor.Segment, error) {
	return tensor.Segment{}, status.New(status.NotFound, "Unable to find shared memory region: '%s'", region)
}

// Close unmaps all regions, once no request uses them.
func (m *Manager) Close() error { return nil }
