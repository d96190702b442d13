package grpcapi

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Buffers have the length that was requested, are reused whole, also after they were shortened,
// and foreign ones are not kept.
func TestFramePool(t *testing.T) {
	t.Parallel()
	var p framePool
	for _, n := range []int{0, 1, 256, 257, 4 << 10, 16 << 10, 16<<10 + 1, 1 << 20, 1<<20 + 1} {
		for range 3 {
			b := p.Get(n)
			require.Len(t, *b, n)
			clear(*b)
			*b = (*b)[:n/2]
			p.Put(b)
		}
	}
	for _, c := range []int{0, 100, 5000, 2 << 20} {
		b := make([]byte, c)
		p.Put(&b)
	}
	for _, n := range []int{100, 5000, 1 << 20} {
		require.Len(t, *p.Get(n), n)
	}
}
