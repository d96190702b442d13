//go:build cgo && linux

package plugin

import "sync"

// handle stands for a Go object in memory of C.
type handle uint64

// registry finds the objects of handles. Handles are not reused.
type registry[T any] struct {
	mu   sync.RWMutex
	last handle
	all  map[handle]*T
}

func (r *registry[T]) add(t *T) handle {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[handle]*T{}
	}
	r.last++
	r.all[r.last] = t
	return r.last
}

func (r *registry[T]) remove(h handle) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, h)
}

// find returns the object of a handle; nil when it has ended.
func (r *registry[T]) find(h handle) *T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.all[h]
}

// The objects that C knows.
var (
	models    registry[model]
	instances registry[instance]
)
