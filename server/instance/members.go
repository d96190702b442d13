package instance

import (
	"slices"
	"sync"
)

// members are the workers of a group. A change of the instance groups replaces the lists.
type members struct {
	mu      sync.Mutex
	workers []*worker // in the order of the configuration
	passive []*worker // without a slot
	leaving []*worker // removed, and not closed yet
	closed  bool      // the group drains: nothing is added
}

// serving returns the workers that take requests.
func (m *members) serving() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.workers
}

// current returns the workers of the configuration.
func (m *members) current() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.workers, m.passive)
}

// all returns the workers of the configuration and those that leave.
func (m *members) all() []*worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Concat(m.workers, m.passive, m.leaving)
}

// close returns a function that closes c when no more workers can be added.
func (m *members) close(c chan struct{}) func() {
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.closed = true
		close(c)
	}
}

// left removes a worker whose instance is closed.
func (m *members) left(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = slices.DeleteFunc(slices.Clone(m.leaving), func(o *worker) bool { return o == w })
}
