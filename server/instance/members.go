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
	joining []*worker // of changes that are neither committed nor discarded yet
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

// close closes c, after which no more workers can be added.
func (m *members) close(c chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	close(c)
}

// join adds a worker with a slot of the lowest index that is not in use; create makes it.
func (m *members) join(create func(index int) *worker) *worker {
	m.mu.Lock()
	defer m.mu.Unlock()
	used := map[int]bool{}
	for _, w := range slices.Concat(m.workers, m.leaving, m.joining) {
		if w.slot != nil {
			used[w.slot.Index] = true
		}
	}
	index := 0
	for used[index] {
		index++
	}
	w := create(index)
	m.joining = append(m.joining, w)
	return w
}

// joined removes a worker from those that join: it serves, or is closed.
func (m *members) joined(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joining = without(m.joining, w)
}

func without(all []*worker, w *worker) []*worker {
	return slices.DeleteFunc(slices.Clone(all), func(o *worker) bool { return o == w })
}

// left removes a worker whose instance is closed.
func (m *members) left(w *worker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.leaving = without(m.leaving, w)
}
