// Package shm manages the shared memory that clients register: regions of POSIX
// objects, and of memory on a GPU, by name. Requests read inputs from a region and have
// outputs written to it without the bytes crossing a socket. A region lives until it is
// unregistered and no request uses it any more.
//
// The client owns the memory and can change it at any time: readers check the bytes
// that they have copied, not those that they are about to copy. A client that shrinks its
// object, and a full /dev/shm, fail the requests that touch the missing pages, and the region
// is lost until it is registered again.
package shm

import (
	"math"
	"sync"

	"triton/pkg/cuda"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// Options are the settings of a Manager.
type Options struct {
	// Allow is --allow-client-shm. Without it clients cannot register memory.
	Allow bool
	// CUDA opens the memory of clients on GPUs; nil if there are no GPUs.
	CUDA cuda.Driver
	// MaxSystem limits the regions of POSIX objects, each of which holds a file descriptor; 0: only the
	// package does.
	MaxSystem int
}

// Manager holds the regions of one server. It is safe for concurrent use.
type Manager struct {
	opts Options
	mu   struct {
		sync.Mutex
		regions map[string]*region // of both kinds
		system  int                // regions of POSIX objects, lost ones that are in use too
	}
}

var _ kserve.Regions = (*Manager)(nil)

// New returns a manager without regions.
func New(o Options) *Manager {
	m := &Manager{opts: o}
	m.mu.regions = map[string]*region{}
	return m
}

// Allowed returns nil if clients may register memory, else the error to send them.
func (m *Manager) Allowed() error {
	if m.opts.Allow {
		return nil
	}
	return status.New(status.Unsupported,
		"Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.")
}

// register adds a region. Its name is reserved while the memory is opened.
func (m *Manager) register(r *region) error {
	lost, err := m.reserve(r)
	if lost != nil {
		lost.Release()
	}
	if err != nil {
		return err
	}
	if err := r.memory.open(r); err != nil {
		m.remove(r)
		return err
	}
	m.publish(r)
	return nil
}

// unregister removes a region of a kind, or all of them if name is empty. The region stays until the last
// request that uses it has ended, also requests that come meanwhile. A name that is not registered is not an
// error. unregister returns the regions whose memory could not be closed.
func (m *Manager) unregister(k kind, name string) (stuck []*region) {
	var removed []*region
	m.mu.Lock()
	for _, r := range m.mu.regions {
		if r.state == usable && r.memory.kind() == k && (name == "" || name == r.name) {
			r.state = unregistered
			removed = append(removed, r)
		}
	}
	m.mu.Unlock()
	for _, r := range removed {
		r.Release()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range removed {
		if r.closeErr != nil {
			stuck = append(stuck, r)
		}
	}
	return stuck
}

// list returns the region of a kind with a name, or all regions of the kind if name is
// empty. other reports whether there are such regions of the other kind.
func (m *Manager) list(k kind, name string) (all []*region, other bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.mu.regions {
		switch {
		case r.state == opening || name != "" && name != r.name:
		case r.memory.kind() == k:
			all = append(all, r)
		default:
			other = true
		}
	}
	return all, other
}

// Find returns size bytes at offset of a region. The caller owns the segment's
// reference. The memory of a CUDA region is on its device.
func (m *Manager) Find(name string, offset, size uint64) (tensor.Segment, error) {
	m.mu.Lock()
	r := m.mu.regions[name]
	// Like Triton it finds an unregistered region as long as a request uses it.
	if r == nil || r.state == opening || !r.TryRetain() {
		m.mu.Unlock()
		return tensor.Segment{}, status.New(status.NotFound, "Unable to find shared memory region: '%s'", name)
	}
	m.mu.Unlock()
	if err := r.memory.Lost(); err != nil {
		r.Release()
		return tensor.Segment{}, err
	}
	if err := r.within(offset, size); err != nil {
		r.Release()
		return tensor.Segment{}, err
	}
	return tensor.Segment{Buffer: &r.Buffer, Off: int(offset), N: int(size)}, nil
}

// within checks the bounds in Triton's order. Like Triton it accepts a range of no
// bytes at the very start of a region.
func (r *region) within(offset, size uint64) error {
	switch {
	case offset >= r.size:
		return status.New(status.InvalidArg, "Invalid offset for shared memory region: '%s'", r.name)
	case size > math.MaxUint64-offset:
		return status.New(status.InvalidArg,
			"Integer overflow detected: byte_size (%d) + offset (%d) exceeds maximum value (%d) for region '%s'",
			size, offset, uint64(math.MaxUint64), r.name)
	case offset+size > r.size || offset+size == 0:
		return status.New(status.InvalidArg, "Invalid offset + byte size for shared memory region: '%s'", r.name)
	}
	return r.memory.holds(offset + size)
}

// Close unregisters all regions. They are unmapped once no request uses them.
func (m *Manager) Close() error {
	m.unregister(system, "")
	return m.unregisterCUDA("")
}
