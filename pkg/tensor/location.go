package tensor

import "os"

// MemoryKind is a kind of memory.
type MemoryKind uint8

// The kinds of memory.
const (
	CPU       MemoryKind = iota // any memory that the processor addresses
	CPUPinned                   // CPU memory that devices can copy from and to directly
	GPU                         // memory of a GPU, which the processor cannot address
)

// String returns the protocol's word for the kind.
func (k MemoryKind) String() string {
	switch k {
	case CPUPinned:
		return "CPU_PINNED"
	case GPU:
		return "GPU"
	}
	return "CPU"
}

// Location is the kind and device of memory. The zero value is the memory of the processor.
type Location struct {
	Kind   MemoryKind
	Device int // index of the device
}

// located is an owner that knows the location of its memory.
type located interface{ Location() Location }

// Location returns where the memory is.
func (b *Buffer) Location() Location {
	if o, ok := b.owner.(located); ok {
		return o.Location()
	}
	return Location{}
}

// Sharer is an owner whose memory other processes can map.
type Sharer interface {
	Owner
	Shared(b *Buffer) (file *os.File, offset int64, ok bool)
}

// Shared returns the file, and the offset in it, at which another process can map
// the bytes of the buffer. It reports false for memory that only this process
// has. The file stays the owner's and is open as long as the buffer is held.
func (b *Buffer) Shared() (file *os.File, offset int64, ok bool) {
	if o, is := b.owner.(Sharer); is {
		return o.Shared(b)
	}
	return nil, 0, false
}
