package tensor

// Foreign is the owner of memory that another process can change or take away at any time.
type Foreign interface {
	Owner
	Foreign()
	// Lost returns an error once the other process has taken the memory away. The memory can
	// still be read and written, but its bytes mean nothing.
	Lost() error
}

// Foreign reports whether another process can change the memory.
func (b *Buffer) Foreign() bool {
	_, foreign := b.owner.(Foreign)
	return foreign
}

// Lost returns an error if another process has taken the memory away. It must be checked after
// the bytes were used: until then the other process could do so.
func (b *Buffer) Lost() error {
	if f, ok := b.owner.(Foreign); ok {
		return f.Lost()
	}
	return nil
}

// Foreign reports whether another process can change a part of the data.
func (d *Data) Foreign() bool {
	for i := range d.Segments() {
		if d.Segment(i).Buffer.Foreign() {
			return true
		}
	}
	return false
}

// Lost returns an error if another process has taken a part of the data away.
func (d *Data) Lost() error {
	for i := range d.Segments() {
		if err := d.Segment(i).Buffer.Lost(); err != nil {
			return err
		}
	}
	return nil
}

// CopyShared copies d, which another process can take away, into dst. If that has happened, it
// returns an error, and the copy means nothing.
func CopyShared(dst []byte, d *Data) error {
	d.CopyTo(dst)
	return d.Lost()
}
