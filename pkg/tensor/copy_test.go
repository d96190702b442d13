package tensor_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
)

// Pieces of every size are copied whole, and no further than the destination.
func TestCopyTo(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, 256 << 10, 256<<10 + 1, 1<<20 - 1, 1 << 20, 2<<20 - 3, 2 << 20, 2<<20 + 1, 5 << 20} {
		src := bytes.Repeat([]byte("0123456789abc"), size/13+1)[:size]
		d := tensor.NewData(tensor.HeapBuffer(src))
		for _, room := range []int{size, size + 7, size / 2} {
			dst := make([]byte, room+8)
			n := d.CopyTo(dst[:room])
			require.Equal(t, min(room, size), n)
			require.True(t, bytes.Equal(src[:n], dst[:n]), size)
			require.Equal(t, make([]byte, len(dst)-n), dst[n:])
		}
		d.Release()
	}
}

// BenchmarkCopyTo copies a tensor to a model and then to a client, as a request with shared
// memory does.
func BenchmarkCopyTo(b *testing.B) {
	for _, size := range []int{256 << 10, 1 << 20, 2 << 20, 16 << 20} {
		b.Run(fmt.Sprintf("%dKB", size>>10), func(b *testing.B) {
			in := tensor.NewData(tensor.HeapBuffer(bytes.Repeat([]byte{1}, size)))
			model := tensor.NewData(tensor.HeapBuffer(bytes.Repeat([]byte{2}, size)))
			out := bytes.Repeat([]byte{3}, size)
			b.SetBytes(int64(2 * size))
			for b.Loop() {
				in.CopyTo(model.Segment(0).Bytes())
				model.CopyTo(out)
			}
		})
	}
}
