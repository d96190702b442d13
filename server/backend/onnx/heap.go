//go:build cgo && (linux || darwin)

package onnx

import "sync"

// heapMeter divides the memory of the C heap among the loads that take it. Loads that overlap
// cannot be told apart, so they share what all of them took in the proportion of their files.
type heapMeter struct {
	read func() uint64 // the memory that the C heap has handed out

	mu     sync.Mutex
	active int
	before uint64
	loads  []*heapLoad // since before
}

// heapLoad is one load. The memory is final when no load that overlaps with it runs.
type heapLoad struct {
	meter  *heapMeter
	weight uint64 // bytes of the files
	arena  uint64 // taken by the session's arena, which is counted by itself
	failed bool
	taken  uint64
}

// begin begins to measure a load.
func (m *heapMeter) begin(weight uint64) *heapLoad {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.active == 0 {
		m.before, m.loads = m.read(), nil
	}
	m.active++
	l := &heapLoad{meter: m, weight: max(weight, 1)}
	m.loads = append(m.loads, l)
	return l
}

// end ends the measurement. arena is the size of the session's arena.
func (l *heapLoad) end(arena uint64, failed bool) {
	m := l.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	l.arena, l.failed = arena, failed
	m.active--
	m.divide()
}

// divide gives each load its share of what was taken so far. The caller holds m.mu.
func (m *heapMeter) divide() {
	now := m.read()
	taken := now - min(m.before, now)
	var arenas, weights uint64
	for _, l := range m.loads {
		if !l.failed {
			arenas, weights = arenas+l.arena, weights+l.weight
		}
	}
	taken -= min(arenas, taken)
	for _, l := range m.loads {
		if l.taken = 0; !l.failed && weights > 0 {
			l.taken = uint64(float64(taken) * (float64(l.weight) / float64(weights)))
		}
	}
}

// bytes returns the memory that the load took in addition to the arena.
func (l *heapLoad) bytes() uint64 {
	l.meter.mu.Lock()
	defer l.meter.mu.Unlock()
	return l.taken
}
