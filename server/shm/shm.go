// Package shm is the shared memory that clients register: regions of POSIX
// objects, by name. Requests read inputs from a region and have outputs written
// to it without the bytes crossing a socket. A region lives until it is
// unregistered and no request uses it any more.
//
// The client owns the object and can change it at any time. What is found in a
// region may be another thing at the next look: readers check what they have
// copied, not what they are about to copy. A client that makes its object
// smaller is found out by the next Find, and where Go code copies. One that does
// so while an engine reads or writes there ends the process (SIGBUS), as does an
// input that was never written on a full /dev/shm. That is one reason why client
// memory is off unless the operator allows it.
package shm

import (
	"cmp"
	"math"
	"slices"
	"strings"
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
		regions map[string]*region
	}
}

var _ kserve.Regions = (*Manager)(nil)

// New makes a manager without regions.
func New(o Options) *Manager {
	m := &Manager{opts: o}
	m.mu.regions = map[string]*region{}
	return m
}

// System is one registered system region. Offset and Size are in bytes.
type System struct {
	Name, Key    string
	Offset, Size uint64
}

// Allowed is nil when clients may register memory, else the error that tells
// them so.
func (m *Manager) Allowed() error {
	if m.opts.Allow {
		return nil
	}
	return status.New(status.Unsupported,
		"Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.")
}

// reserved is how the objects of python model processes are named.
const reserved = "triton_python_backend_shm_region_"

// RegisterSystem maps size bytes at offset, which must be page-aligned, of the
// POSIX object key.
func (m *Manager) RegisterSystem(name, key string, offset, size uint64) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	object := strings.TrimLeft(key, "/")
	if object == "" {
		return status.New(status.InvalidArg, "cannot register shared memory region '%s' - invalid shm key '%s'", name, key)
	}
	if strings.HasPrefix(object, reserved) {
		return status.New(status.InvalidArg,
			"cannot register shared memory region '%s' with key '%s' as the key contains the reserved prefix '%s'", name, key, reserved)
	}
	r := &region{System: System{Name: name, Key: key, Offset: offset, Size: size}, manager: m}
	// The name is taken while the object is opened.
	if !m.take(r) {
		return status.New(status.AlreadyExists, "shared memory region '%s' already in manager", name)
	}
	if err := r.open(object); err != nil {
		m.forget(r)
		return err
	}
	m.publish(r)
	return nil
}

// RegisterCUDA says that there are no CUDA regions: this server opens no memory
// of other processes on a GPU yet.
func (m *Manager) RegisterCUDA(name string) error {
	return status.New(status.InvalidArg, "failed to register CUDA shared memory region: '%s', GPUs not supported", name)
}

// UnregisterSystem forgets a region, or all when name is empty. Its name stays
// taken until the last request that uses it is done; no new request finds it. A
// name that is not registered is no error.
func (m *Manager) UnregisterSystem(name string) error {
	if err := m.Allowed(); err != nil {
		return err
	}
	m.unregister(name)
	return nil
}

func (m *Manager) unregister(name string) {
	var gone []*region
	m.mu.Lock()
	for _, r := range m.mu.regions {
		if r.state == usable && (name == "" || name == r.Name) {
			r.state = leaving
			gone = append(gone, r)
		}
	}
	m.mu.Unlock()
	for _, r := range gone {
		r.Release()
	}
}

// SystemStatus is a region, or all by name when name is empty.
func (m *Manager) SystemStatus(name string) ([]System, error) {
	var all []System
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.regions {
		if r.state != opening && (name == "" || name == r.Name) {
			all = append(all, r.System)
		}
	}
	if name != "" && len(all) == 0 {
		return nil, status.New(status.NotFound, "Unable to find system shared memory region: '%s'", name)
	}
	slices.SortFunc(all, func(a, b System) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// CUDAStatus is why there is nothing to say of a CUDA region; nil when name is
// empty, for all of them.
func (m *Manager) CUDAStatus(name string) error {
	if name == "" {
		return nil
	}
	if _, err := m.SystemStatus(name); err == nil {
		return status.New(status.NotFound, "The region named '%s' is registered as system shared memory, not CUDA shared memory", name)
	}
	return status.New(status.NotFound, "Unable to find cuda shared memory region: '%s'", name)
}

// Find is size bytes at offset of a region. The caller owns the segment's
// reference.
func (m *Manager) Find(name string, offset, size uint64) (tensor.Segment, error) {
	m.mu.Lock()
	r := m.mu.regions[name]
	if r == nil || r.state != usable {
		m.mu.Unlock()
		return tensor.Segment{}, status.New(status.NotFound, "Unable to find shared memory region: '%s'", name)
	}
	r.Retain()
	m.mu.Unlock()
	if err := r.within(offset, size); err != nil {
		r.Release()
		return tensor.Segment{}, err
	}
	return tensor.Segment{Buffer: &r.Buffer, Off: int(offset), N: int(size)}, nil
}

// within checks the bounds in Triton's order. It takes no bytes at the very
// start of a region for a mistake, and so do we.
func (r *region) within(offset, size uint64) error {
	switch {
	case offset >= r.Size:
		return status.New(status.InvalidArg, "Invalid offset for shared memory region: '%s'", r.Name)
	case size > math.MaxUint64-offset:
		return status.New(status.InvalidArg,
			"Integer overflow detected: byte_size (%d) + offset (%d) exceeds maximum value (%d) for region '%s'",
			size, offset, uint64(math.MaxUint64), r.Name)
	case offset+size > r.Size || offset+size == 0:
		return status.New(status.InvalidArg, "Invalid offset + byte size for shared memory region: '%s'", r.Name)
	case !r.object.holds(r.Offset + offset + size):
		return status.New(status.Internal, "Invalid shared memory region: '%s'", r.Key)
	}
	return nil
}

// Close unregisters all regions. They are unmapped once no request uses them.
func (m *Manager) Close() error {
	m.unregister("")
	return nil
}
