package tensor

// Write calls fill to write the bytes of the piece. It reports false if another process
// has taken the memory away: a part of it may be written.
func (s Segment) Write(fill func(mem []byte)) bool {
	if !s.Buffer.Foreign() {
		fill(s.Bytes())
		return true
	}
	return Survives(func() { fill(s.Bytes()) })
}
