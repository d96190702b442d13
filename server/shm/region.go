package shm

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// state is the state of a region; it is guarded by the manager's lock.
type state uint8

const (
	opening      state = iota // the name is reserved
	usable                    // the manager holds one reference
	unregistered              // requests hold the last references
)

// kind is the kind of memory: system or CUDA.
type kind uint8

const (
	system kind = iota
	device
)

// memory is the memory of a region.
type memory interface {
	kind() kind
	// open makes the memory usable and reports errors with the region's name.
	open(r *region) error
	// init makes the region's buffer; others are the other regions.
	init(r *region, others map[string]*region)
	// holds returns an error when the first n bytes no longer exist.
	holds(n uint64) error
	// Lost returns an error once the client has taken a part of the memory away.
	Lost() error
	close() error
}

// region is one registered region.
type region struct {
	tensor.Buffer
	name     string
	size     uint64 // bytes
	memory   memory
	manager  *Manager
	state    state
	closeErr error // of closing the memory; guarded by the manager's lock
}

// reserve adds a region that is not usable yet. Its name must not be in use. A lost region makes room for
// its successor: it is returned for its reference to be released.
func (m *Manager) reserve(r *region) (lost *region, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.mu.regions[r.name]; old != nil {
		if old.state != usable || old.memory.Lost() == nil {
			return nil, status.New(status.AlreadyExists, "shared memory region '%s' already in manager", r.name)
		}
		old.state, lost = unregistered, old
	}
	if r.memory.kind() == system {
		if m.mu.system >= m.opts.MaxSystem && m.opts.MaxSystem > 0 {
			return lost, status.New(status.Unavailable,
				"cannot register shared memory region '%s': %d regions are registered, the most that the server's limit of open files (ulimit -n) leaves room for; unregister some", r.name, m.mu.system)
		}
		m.mu.system++
	}
	r.manager = m
	m.mu.regions[r.name] = r
	return lost, nil
}

// forget removes a region from the count. The caller holds m.mu.
func (m *Manager) forget(r *region) {
	if r.memory.kind() == system {
		m.mu.system--
	}
}

func (m *Manager) remove(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(r)
	delete(m.mu.regions, r.name)
}

// publish makes a region usable.
func (m *Manager) publish(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.memory.init(r, m.mu.regions)
	r.state = usable
}

// free closes the region after its last reference.
func (r *region) free() {
	err := r.memory.close()
	r.manager.mu.Lock()
	defer r.manager.mu.Unlock()
	r.closeErr = err
	r.manager.forget(r)
	if r.manager.mu.regions[r.name] == r { // otherwise it was lost and has a successor
		delete(r.manager.mu.regions, r.name)
	}
}
