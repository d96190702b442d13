package shm

import (
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

// reserve adds a region that is not usable yet. It reports false if its name is in use. A lost
// region makes room for its successor: it is returned for its reference to be released.
func (m *Manager) reserve(r *region) (lost *region, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.mu.regions[r.name]; old != nil {
		if old.state != usable || old.memory.Lost() == nil {
			return nil, false
		}
		old.state, lost = unregistered, old
	}
	r.manager = m
	m.mu.regions[r.name] = r
	return lost, true
}

func (m *Manager) remove(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
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
	if r.manager.mu.regions[r.name] == r { // otherwise it was lost and has a successor
		delete(r.manager.mu.regions, r.name)
	}
}
