package shm

import (
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// state is where a region is in its life; it is guarded by the manager's lock.
type state uint8

const (
	opening state = iota // the name is taken
	usable               // the manager holds one reference
	leaving              // requests hold the last ones
)

// region is one registered region, and the owner of its memory.
type region struct {
	tensor.Buffer
	System
	manager *Manager
	object  *object
	state   state
}

// open maps the region's part of the object.
func (r *region) open(name string) (err error) {
	if r.object, err = openObject(name); err != nil {
		if status.CodeOf(err) == status.Unsupported {
			return err
		}
		return status.New(status.Internal, "Unable to open shared memory region: '%s'", r.Key)
	}
	size, err := r.object.size()
	switch {
	case err != nil:
		err = status.New(status.Internal, "Invalid shared memory region: '%s'", r.Key)
	case r.Offset > size || r.Size > size-r.Offset:
		err = status.New(status.InvalidArg, "failed to register shared memory region '%s': invalid args", r.Name)
	default:
		if text := r.object.open(r.Offset, r.Size); text != "" {
			err = status.New(status.InvalidArg,
				"failed to register shared memory region '%s': unable to process address space%s", r.Name, text)
		}
	}
	if err != nil {
		r.object.close()
	}
	return err
}

// take enters a region that is not usable yet; false when its name is taken.
func (m *Manager) take(r *region) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mu.regions[r.Name] != nil {
		return false
	}
	m.mu.regions[r.Name] = r
	return true
}

func (m *Manager) forget(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mu.regions, r.Name)
}

// publish makes a region usable. Memory that another region shows too counts as
// unstable: it is copied before an engine runs, and engines do not write into
// it. Else an output could change an input that is still to be read, at an
// address that nobody can tell from it.
func (m *Manager) publish(r *region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stable := true
	for _, o := range m.mu.regions {
		if o.state != opening && o.overlaps(r) {
			stable = false
			break
		}
	}
	r.Init(r.object.mem, stable, r)
	r.state = usable
}

// overlaps says whether two regions have bytes in common.
func (r *region) overlaps(o *region) bool {
	return r.object.id == o.object.id && r.Offset < o.Offset+o.Size && o.Offset < r.Offset+r.Size
}

// Free unmaps the region after its last reference.
func (r *region) Free(*tensor.Buffer) {
	r.object.close()
	r.manager.forget(r)
}
