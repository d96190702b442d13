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
