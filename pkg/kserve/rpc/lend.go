package rpc

import (
	"sync"

	"google.golang.org/grpc/mem"

	"triton/pkg/tensor"
)

// loan is memory of ours that gRPC holds until it is written. It is the buffer
// pool that gRPC gives the memory back to, which is the one way to be told.
type loan struct {
	data   []byte
	buffer *tensor.Buffer
}

var loans = sync.Pool{New: func() any { return &loan{} }}

// minLoan is a size that gRPC surely gives back; it forgets smaller buffers.
const minLoan = 1<<10 + 1

// lend makes a transport buffer of data, which lies in b, and takes over the
// caller's reference to b. The capacity must be at least minLoan.
func lend(b *tensor.Buffer, data []byte) mem.Buffer {
	l := loans.Get().(*loan)
	l.data, l.buffer = data, b
	return mem.NewBuffer(&l.data, l)
}

// Get is not used: gRPC only gives back.
func (l *loan) Get(n int) *[]byte { b := make([]byte, n); return &b }

// Put ends the loan.
func (l *loan) Put(*[]byte) {
	b := l.buffer
	*l = loan{}
	loans.Put(l)
	b.Release()
}
