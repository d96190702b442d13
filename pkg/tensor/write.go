package tensor

// Write has fill write the bytes of the piece. False says that another process
// has taken the memory away meanwhile: part of it may be written.
func (s Segment) Write(fill func(mem []byte)) bool {
	if !s.Buffer.Foreign() {
		fill(s.Bytes())
		return true
	}
	return Survives(func() { fill(s.Bytes()) })
}
