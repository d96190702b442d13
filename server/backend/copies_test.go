package backend

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// TestGatherCopies counts: a request alone is passed through where a backend can
// read it, and each byte of a batch is copied once.
func TestGatherCopies(t *testing.T) {
	t.Parallel()
	v := Value{Name: "x", DataType: tensor.Int32, Dims: tensor.Shape{-1}}
	for _, c := range []struct{ requests, piece, want int }{
		{1, 0, 0},
		{1, 64, 1024}, // in pieces
		{2, 0, 2 * 1024},
		{8, 64, 8 * 1024},
	} {
		pool := tensor.NewPool()
		var all []*infer.Request
		for range c.requests {
			all = append(all, request(pool, 1, v, tensor.Shape{1, 256}, sequence(1024), c.piece))
		}
		g := NewGather(signature(true, v), pool)
		require.NoError(t, g.Collect(batchOf(all...)))
		model, client := pool.Copied()
		require.Equal(t, [2]int64{int64(c.want), 0}, [2]int64{model, client}, "%+v", c)
		g.Release()
		release(all...)
		require.Zero(t, pool.Outstanding())
	}
}
