package child

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"triton/pkg/tensor"
)

// Memory is a pool whose memory children can map, and the file that they inherit for it.
type Memory struct {
	Pool *tensor.Pool
	File *os.File
}

// OpenMemory returns the memory of a pool. It fails if other processes cannot map the pool.
func OpenMemory(pool *tensor.Pool) (*Memory, error) {
	probe, err := pool.TryGet(1)
	if err != nil {
		return nil, fmt.Errorf("no memory that child processes can share: %w", err)
	}
	defer probe.Release()
	file, _, ok := probe.Shared()
	if !ok {
		return nil, errors.New("no memory that child processes can share: the system maps none")
	}
	return &Memory{Pool: pool, File: file}, nil
}

// Allocate returns memory that children can map, and its offset in the file; nil if there is
// none.
func (m *Memory) Allocate(size int) (*tensor.Buffer, int64) {
	return allocate(size, m.Pool.TryGet)
}

// AllocateZeroed is Allocate with all bytes zero.
func (m *Memory) AllocateZeroed(size int) (*tensor.Buffer, int64) {
	return allocate(size, m.Pool.TryGetZeroed)
}

func allocate(size int, get func(int) (*tensor.Buffer, error)) (*tensor.Buffer, int64) {
	if size == 0 {
		return nil, 0
	}
	b, err := get(size)
	if err != nil {
		return nil, 0
	}
	_, offset, ok := b.Shared()
	if !ok {
		b.Release()
		return nil, 0
	}
	return b, offset
}

// Find returns the offset in the file of data that children can map where it is. It reports
// false for other data.
func (m *Memory) Find(d *tensor.Data) (offset int64, ok bool) {
	if d.Segments() != 1 {
		return 0, false
	}
	s := d.Segment(0)
	file, offset, ok := s.Buffer.Shared()
	return offset + int64(s.Off), ok && file == m.File
}

// Blocks are the numbered pieces of memory that a child uses. A piece keeps its memory until
// the child gives the number back, or has ended. The zero value has none.
type Blocks struct {
	mu    sync.Mutex
	of    map[uint32]*tensor.Buffer
	last  uint32
	freed bool
}

// Add enters memory, takes over the reference and returns the number.
func (t *Blocks) Add(b *tensor.Buffer) uint32 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[uint32]*tensor.Buffer{}
	}
	for t.last++; t.last == 0 || t.last == Inline || t.of[t.last] != nil; t.last++ { // skip the numbers in use
	}
	if t.freed { // nothing gives it back
		b.Release()
	} else {
		t.of[t.last] = b
	}
	return t.last
}

// Drop releases the memory of a number. Unknown numbers are ignored.
func (t *Blocks) Drop(number uint32) {
	t.mu.Lock()
	b := t.of[number]
	delete(t.of, number)
	t.mu.Unlock()
	if b != nil {
		b.Release()
	}
}

// Slice returns a part of a piece of memory with a reference. It reports false if the part is
// outside of the piece.
func (t *Blocks) Slice(number uint32, off, n uint64) (tensor.Data, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Slice(t.of[number], off, n)
}

// SliceAt is Slice for an offset in the memory file.
func (t *Blocks) SliceAt(number uint32, at, n uint64) (tensor.Data, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.of[number]
	if b == nil {
		return tensor.Data{}, false
	}
	_, base, ok := b.Shared()
	if !ok || at < uint64(base) {
		return tensor.Data{}, false
	}
	return Slice(b, at-uint64(base), n)
}

// Slice returns a part of a buffer with a reference. It reports false if the part is outside of
// the buffer, or if the buffer is nil.
func Slice(b *tensor.Buffer, off, n uint64) (tensor.Data, bool) {
	if b == nil || off > uint64(b.Len()) || n > uint64(b.Len())-off {
		return tensor.Data{}, false
	}
	return tensor.SliceData(b, int(off), int(n)), true
}

// Free releases all memory: the child has ended.
func (t *Blocks) Free() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.freed = true
	for number, b := range t.of {
		delete(t.of, number)
		b.Release()
	}
}

// Len returns the number of pieces in use.
func (t *Blocks) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.of)
}

// Tensors up to InlineBytes are in frames, which costs less than a block. Inline is their
// block number.
const (
	Inline      = 0xFFFFFFFF
	InlineBytes = 4 << 10
	InlineFrame = 64 << 10 // a frame of this size gets no more tensors
)
