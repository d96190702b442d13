package rpc

import (
	"math/bits"
	"runtime"
	"sync"

	"google.golang.org/grpc/mem"

	"triton/pkg/tensor"
)

// gRPC frees the buffers of a message after writing it, through the buffer pool
// that they name; the two types here are such pools, of one buffer each. When a
// connection breaks off, gRPC drops buffers without freeing them. Blocks are
// then left to the garbage collector like any memory, but tensors lie outside
// the heap, so loans also end when they are collected.

// minLoan is a size that gRPC surely frees; it forgets smaller buffers.
const minLoan = 1<<10 + 1

// block is memory for the part of a message that is ours.
type block struct {
	data []byte
	pool *sync.Pool // where it returns to; nil for sizes that are not kept
}

const (
	minBlockBits = 12
	maxBlockBits = 20
)

var blocks [maxBlockBits - minBlockBits + 1]sync.Pool

// newBlock has at least n bytes, of undefined contents.
func newBlock(n int) *block {
	class := max(bits.Len(uint(max(n, 1)-1)), minBlockBits) - minBlockBits
	if class >= len(blocks) {
		return &block{data: make([]byte, n)}
	}
	pool := &blocks[class]
	if b, _ := pool.Get().(*block); b != nil {
		b.data = b.data[:cap(b.data)]
		return b
	}
	return &block{data: make([]byte, 1<<(class+minBlockBits)), pool: pool}
}

// buffer hands the first n bytes to gRPC.
func (b *block) buffer(n int) mem.Buffer {
	b.data = b.data[:n]
	return mem.NewBuffer(&b.data, b)
}

// Get is not used: gRPC only gives back.
func (b *block) Get(n int) *[]byte { p := make([]byte, n); return &p }

// Put takes the block back.
func (b *block) Put(*[]byte) {
	if b.pool != nil {
		b.pool.Put(b)
	}
}

// loan is tensor memory that gRPC holds until it is written.
type loan struct {
	data   []byte
	buffer *tensor.Buffer
}

// The finalizer is for good: setting it at each loan would cost more than the
// loan.
var loans = sync.Pool{New: func() any {
	l := &loan{}
	runtime.SetFinalizer(l, (*loan).end)
	return l
}}

// lend makes a transport buffer of a piece of a tensor, with a reference of its
// own. The piece must have at least minLoan bytes.
func lend(s tensor.Segment) mem.Buffer {
	l := loans.Get().(*loan)
	l.data, l.buffer = s.Bytes(), s.Buffer.Retain()
	return mem.NewBuffer(&l.data, l)
}

// Get is not used: gRPC only gives back.
func (l *loan) Get(n int) *[]byte { p := make([]byte, n); return &p }

// Put ends the loan.
func (l *loan) Put(*[]byte) {
	l.end()
	loans.Put(l)
}

func (l *loan) end() {
	if b := l.buffer; b != nil {
		*l = loan{}
		b.Release()
	}
}
