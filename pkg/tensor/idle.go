package tensor

import "os"

// Idle returns the part of Bytes that is free and waits for reuse.
func (p *Pool) Idle() int64 {
	var all int64
	for i := range p.classes {
		c := &p.classes[i]
		c.mu.Lock()
		all += int64(len(c.mu.free)) << (i + minClassBits)
		c.mu.Unlock()
	}
	return all
}

// Trim returns free memory to the system: it unmaps free mappings, and discards the contents of free
// pieces of slabs, of which others may be in use, if they have whole pages.
func (p *Pool) Trim() {
	p.discardSlabs()
	for c := classOf(slabBytes); c < classes; c++ {
		cl := &p.classes[c]
		cl.mu.Lock()
		free := cl.mu.free
		cl.mu.free, cl.mu.dirty = nil, 0
		cl.mu.Unlock()
		for _, m := range free {
			p.kept.Add(-int64(cap(m.mem)))
			p.unmapping(m)
		}
	}
}

// discarder is a Source that can give back the memory of a part of a mapping and keep the mapping.
type discarder interface {
	// discard reports whether the memory of b, whole pages of the mapping, was given back.
	discard(b []byte, of *Mapping) bool
}

func (p *Pool) discardSlabs() {
	source, ok := p.source.(discarder)
	if !ok {
		return
	}
	for c := max(classOf(os.Getpagesize()), 0); c < classOf(slabBytes); c++ {
		cl := &p.classes[c]
		cl.mu.Lock()
		if cl.mu.dirty == 0 {
			cl.mu.Unlock()
			continue
		}
		free := cl.mu.free
		cl.mu.free, cl.mu.dirty = nil, 0
		cl.mu.Unlock()
		dirty := 0
		for i := range free {
			m := &free[i]
			switch {
			case m.discarded:
			case source.discard(m.mem, m.mapping):
				m.discarded = true
				p.discarded.Add(int64(cap(m.mem)))
			default:
				dirty++
			}
		}
		cl.mu.Lock()
		cl.mu.free = append(cl.mu.free, free...)
		cl.mu.dirty += dirty
		cl.mu.Unlock()
	}
}
