package rpc

import (
	"math/bits"
	"runtime"
	"sync"

	"google.golang.org/grpc/mem"

	"triton/pkg/tensor"
)

// gRPC frees the buffers of a message after writing it, through the buffer pool that they
// name. The two types here are such pools, of one buffer each. When a connection breaks,
// gRPC drops buffers without freeing them. The garbage collector then frees blocks like any
// memory. Tensors are outside the heap, so a finalizer ends their loans.

// minLoan is the size from which gRPC frees buffers. It drops smaller ones.
const minLoan = 1<<10 + 1

// block is the memory of the part of a message that is not lent.
type block struct {
	data []byte
	pool *sync.Pool // that Put returns it to; nil for sizes without a pool
}

const (
	minBlockBits = 12
	maxBlockBits = 20
)

var blocks [maxBlockBits - minBlockBits + 1]sync.Pool

// newBlock returns a block of at least n bytes with undefined contents.
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

// buffer returns the first n bytes as a buffer of gRPC.
func (b *block) buffer(n int) mem.Buffer {
	b.data = b.data[:n]
	return mem.NewBuffer(&b.data, b)
}

// Get is not used: gRPC only calls Put.
func (b *block) Get(n int) *[]byte { p := make([]byte, n); return &p }

// Put returns the block to its pool.
func (b *block) Put(*[]byte) {
	if b.pool != nil {
		b.pool.Put(b)
	}
}

// loan is tensor memory that gRPC holds until it has written it.
type loan struct {
	data   []byte
	buffer *tensor.Buffer
}

// Each loan keeps its finalizer: setting one per use would cost more than the loan.
var loans = sync.Pool{New: func() any {
	l := &loan{}
	runtime.SetFinalizer(l, (*loan).end)
	return l
}}

// lend returns a transport buffer over a segment of at least minLoan bytes. The
// buffer has a reference of its own.
func lend(s tensor.Segment) mem.Buffer {
	l := loans.Get().(*loan)
	l.data, l.buffer = s.Bytes(), s.Buffer.Retain()
	return mem.NewBuffer(&l.data, l)
}

// Get is not used: gRPC only calls Put.
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
