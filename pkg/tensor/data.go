package tensor

import "slices"

// Segment is a piece of a buffer.
type Segment struct {
	Buffer *Buffer
	Off, N int
}

// Bytes returns the memory of the piece.
func (s Segment) Bytes() []byte { return s.Buffer.data[s.Off : s.Off+s.N : s.Off+s.N] }

// Overlaps reports whether two pieces share bytes of the same buffer. It does not know
// two buffers over the same memory.
func (s Segment) Overlaps(o Segment) bool {
	return s.Buffer == o.Buffer && s.Off < o.Off+o.N && o.Off < s.Off+s.N
}

// Data holds the bytes of one tensor: a list of segments in order, because a transport
// may deliver them in pieces. Data owns one reference per segment. The zero value is an
// empty tensor. Copying the struct moves the ownership.
type Data struct {
	first Segment
	rest  []Segment
	size  int
}

// NewData returns the data of one whole buffer. It takes over the caller's reference.
func NewData(b *Buffer) Data {
	return Data{first: Segment{Buffer: b, N: b.Len()}, size: b.Len()}
}

// SegmentData returns the data of one segment, which may be on a Device. It takes over
// the caller's reference.
func SegmentData(s Segment) Data { return Data{first: s, size: s.N} }

// SliceData returns the data b[off:off+n]. It retains b.
func SliceData(b *Buffer, off, n int) Data {
	_ = b.data[off : off+n] // bounds check in the caller that made the mistake
	return Data{first: Segment{Buffer: b.Retain(), Off: off, N: n}, size: n}
}

// Append appends a piece and retains b. Empty pieces are dropped.
func (d *Data) Append(b *Buffer, off, n int) {
	if n == 0 {
		return
	}
	_ = b.data[off : off+n]
	s := Segment{Buffer: b.Retain(), Off: off, N: n}
	d.size += n
	if d.first.Buffer == nil {
		d.first = s
		return
	}
	d.rest = append(d.rest, s)
}

// Len returns the number of bytes.
func (d *Data) Len() int { return d.size }

// Segments returns the number of pieces.
func (d *Data) Segments() int {
	if d.first.Buffer == nil {
		return 0
	}
	return 1 + len(d.rest)
}

// Segment returns piece i without a reference.
func (d *Data) Segment(i int) Segment {
	if i == 0 {
		return d.first
	}
	return d.rest[i-1]
}

// Contiguous returns the bytes if they are in one piece or there are none.
func (d *Data) Contiguous() ([]byte, bool) {
	switch d.Segments() {
	case 0:
		return nil, true
	case 1:
		return d.first.Bytes(), true
	}
	return nil, false
}

// Stable reports whether the data is in one piece at an address that C code may use for
// longer than one call.
func (d *Data) Stable() bool {
	return d.Segments() == 0 || len(d.rest) == 0 && d.first.Buffer.stable
}

// CopyTo copies all pieces into dst and returns the number of bytes.
func (d *Data) CopyTo(dst []byte) int {
	n := 0
	for i := range d.Segments() {
		n += copyBytes(dst[n:], d.Segment(i).Bytes())
	}
	return n
}

// Go copies 1 MiB and more past the caches. Up to cachedBytes the next reader, such as the client
// or a child process, is faster when it finds the copy in a cache.
const (
	cachedBytes = 2 << 20
	cachedStep  = 256 << 10
)

// copyBytes is copy.
func copyBytes(dst, src []byte) int {
	n := 0
	for len(src) <= cachedBytes && len(src) > cachedStep && len(dst) > cachedStep {
		n += copy(dst[:cachedStep], src)
		dst, src = dst[cachedStep:], src[cachedStep:]
	}
	return n + copy(dst, src)
}

// Clone returns the same data with references of its own.
func (d *Data) Clone() Data {
	c := Data{size: d.size}
	if d.first.Buffer == nil {
		return c
	}
	c.first = d.first
	c.first.Buffer.Retain()
	c.rest = slices.Clone(d.rest)
	for _, s := range c.rest {
		s.Buffer.Retain()
	}
	return c
}

// keepSegments is the length of the longest list of pieces that an empty Data reuses.
const keepSegments = 1024

// Release releases all references and makes d empty.
func (d *Data) Release() {
	if d.first.Buffer != nil {
		d.first.Buffer.Release()
	}
	for i := range d.rest {
		d.rest[i].Buffer.Release()
		d.rest[i] = Segment{}
	}
	d.first, d.rest, d.size = Segment{}, d.rest[:0], 0
	if cap(d.rest) > keepSegments {
		d.rest = nil
	}
}
