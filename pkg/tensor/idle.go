package tensor

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

// Trim returns free mappings to the system. Free pieces of slabs stay: each slab may have others
// that are in use.
func (p *Pool) Trim() {
	for c := classOf(slabBytes); c < classes; c++ {
		cl := &p.classes[c]
		cl.mu.Lock()
		free := cl.mu.free
		cl.mu.free = nil
		cl.mu.Unlock()
		for _, m := range free {
			p.kept.Add(-int64(cap(m.mem)))
			p.unmapping(m)
		}
	}
}
