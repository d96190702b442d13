package python

import (
	"errors"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend/child"
)

// align is the alignment in bytes of tensors that share a buffer.
const align = 64

// aligned returns n rounded up to a multiple of align.
func aligned(n int) int { return (n + align - 1) &^ (align - 1) }

// allocate returns memory that the child can map, and its offset in the memory file.
func (m *memory) allocate(size int) (*tensor.Buffer, int64, error) {
	if size == 0 {
		return nil, 0, errEmpty
	}
	b, err := m.pool.TryGet(size)
	if err != nil {
		return nil, 0, noMemory(size, err)
	}
	_, offset, ok := b.Shared()
	if !ok {
		b.Release()
		return nil, 0, noMemory(size, errPrivate)
	}
	return b, offset, nil
}

var (
	errEmpty   = status.New(status.Internal, "internal error: no memory was asked for")
	errPrivate = errors.New("the system has none that processes can share")
)

// block returns memory that the child may use until it gives back the number.
func (e *events) block(size int) (number uint32, b *tensor.Buffer, offset int64, err error) {
	if b, offset, err = e.model.memory.allocate(size); err != nil {
		return 0, nil, 0, err
	}
	return e.addBlock(b), b, offset, nil
}

func noMemory(size int, err error) error {
	return status.Wrap(err, status.Internal, "the server has no memory for %d bytes of tensors", size)
}

// addBlock enters memory in the table, which takes over the reference, and returns its number.
func (e *events) addBlock(b *tensor.Buffer) uint32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := &e.mu.lastBlock
	for *n++; *n == 0 || e.mu.blocks[*n] != nil; *n++ { // skip 0 and the numbers in use
	}
	e.mu.blocks[*n] = b
	return *n
}

// dropBlock releases a block.
func (e *events) dropBlock(number uint32) {
	e.mu.Lock()
	b := e.mu.blocks[number]
	delete(e.mu.blocks, number)
	e.mu.Unlock()
	if b != nil {
		b.Release()
	}
}

// release reads the numbers of the blocks that the child gives back.
func (e *events) release(r *child.Reader) {
	for range r.Uint32() {
		number := r.Uint32()
		if r.Err() != nil {
			return
		}
		e.dropBlock(number)
	}
}

// slice returns a part of a block. It reports false if the part is outside of the block.
func (e *events) slice(number uint32, off, n uint64) (tensor.Data, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return child.Slice(e.mu.blocks[number], off, n)
}

// reserve answers a child that asks for a block to write to. Number 0 means that there is no
// memory.
func (e *events) reserve(p *child.Process, r *child.Reader) {
	question, size := r.Uint32(), r.Uint64()
	if r.Err() != nil {
		return
	}
	number, _, offset, err := e.block(int(min(size, maxOutputs)))
	m := e.out.Begin(frameBlock)
	m.Uint32(question)
	m.Uint32(number)
	m.Uint64(uint64(offset))
	if err != nil {
		size = 0
	}
	m.Uint64(size)
	_ = p.Post(m)
}

// maxOutputs bounds the sizes that children request, so that they fit into an int.
const maxOutputs = 1 << 62
