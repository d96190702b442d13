package tensor

import (
	"sync/atomic"

	"triton/pkg/invariant"
)

// Buffer is a block of memory with a reference count. A *Buffer in a struct owns one
// reference; a function argument is borrowed for the call. To keep it, call Retain;
// every reference is released once. Bytes are read-only once their writer has passed
// the buffer on.
type Buffer struct {
	data   []byte
	owner  Owner
	stable bool
	refs   atomic.Int32
	// Fields of the pool: the whole memory, and its size class, -1 for a
	// mapping of its own.
	whole piece
	class int8
}

// Owner frees the memory of a buffer at its last Release.
type Owner interface{ Free(b *Buffer) }

// NewBuffer returns a buffer with one reference over memory that its owner frees at the
// last Release. A nil owner leaves the memory to the garbage collector. stable reports
// that Go neither moves nor collects the memory, so that C may keep its address for
// longer than one call.
func NewBuffer(data []byte, stable bool, owner Owner) *Buffer {
	b := &Buffer{}
	b.Init(data, stable, owner)
	return b
}

// Init makes b a new buffer with one reference, for owners that reuse the structs. It
// must not be called while references exist.
func (b *Buffer) Init(data []byte, stable bool, owner Owner) {
	invariant.Check(b.refs.Load() == 0, "buffer initialized while it has %d references", b.refs.Load())
	b.data, b.stable, b.owner = data, stable, owner
	b.refs.Store(1)
}

// HeapBuffer returns a buffer over Go memory: not stable, freed by the collector.
func HeapBuffer(data []byte) *Buffer { return NewBuffer(data, false, nil) }

// Bytes returns the memory. It is valid while the caller holds a reference.
func (b *Buffer) Bytes() []byte { return b.data }

// Len returns the number of bytes.
func (b *Buffer) Len() int { return len(b.data) }

// Owner returns the owner, by which an owner recognizes its buffers.
func (b *Buffer) Owner() Owner { return b.owner }

// Stable reports whether C code may keep the address for longer than one call.
func (b *Buffer) Stable() bool { return b.stable }

// Truncate shortens the buffer. Only its writer, who holds the only reference, may call
// it.
func (b *Buffer) Truncate(n int) {
	invariant.Check(b.refs.Load() == 1, "buffer truncated while shared")
	b.data = b.data[:n]
}

// Retain adds a reference and returns b.
func (b *Buffer) Retain() *Buffer {
	if n := b.refs.Add(1); n <= 1 {
		panic("tensor: Retain of a released buffer")
	}
	return b
}

// TryRetain retains the buffer unless its last reference was released. It reports whether the caller
// has a reference now.
func (b *Buffer) TryRetain() bool {
	for {
		n := b.refs.Load()
		if n <= 0 {
			return false
		}
		if b.refs.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// Sole reports whether the caller, who holds a reference, holds the only one.
func (b *Buffer) Sole() bool { return b.refs.Load() == 1 }

// Release releases one reference; the last one frees the memory.
func (b *Buffer) Release() {
	n := b.refs.Add(-1)
	if n > 0 {
		return
	}
	if n < 0 {
		panic("tensor: buffer released more often than retained")
	}
	if b.owner != nil {
		b.owner.Free(b)
	}
}
