package grpcapi

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// framePool provides the buffers into which gRPC reads frames and decompresses messages. gRPC's
// own pool clears each buffer before it is filled, which is a copy more of every message. The
// sizes are those of that pool, which overhead knows.
type framePool struct {
	sizes [len(frameBits)]sync.Pool // *[]byte
}

// frameBits are the logarithms of the sizes. Most frames of long messages have 16 KiB.
var frameBits = [...]int{8, 12, 14, 15, 20}

// sizeOf returns the index of the smallest size for n bytes; len(frameBits) if there is none.
func sizeOf(n int) int {
	for i, b := range frameBits {
		if n <= 1<<b {
			return i
		}
	}
	return len(frameBits)
}

// Get returns a buffer of a length with any content.
func (p *framePool) Get(length int) *[]byte {
	i := sizeOf(length)
	if i == len(frameBits) {
		b := make([]byte, length)
		return &b
	}
	if b, ok := p.sizes[i].Get().(*[]byte); ok {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, 1<<frameBits[i])
	return &b
}

// Put takes back a buffer, or a prefix of one, of Get.
func (p *framePool) Put(b *[]byte) {
	n := cap(*b)
	if i := sizeOf(n); i < len(frameBits) && n == 1<<frameBits[i] { // otherwise larger than all
		p.sizes[i].Put(b)
	}
}

var _ mem.BufferPool = (*framePool)(nil)
