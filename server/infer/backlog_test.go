package infer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
)

func TestBacklog(t *testing.T) {
	t.Parallel()
	sized := func(n int) *infer.Response {
		r := infer.NewResponse()
		r.Add("X", tensor.Uint8, tensor.Shape{int64(n)}, tensor.NewData(tensor.HeapBuffer(make([]byte, n))))
		return r
	}
	small, large := sized(100), sized(10_000)
	defer small.Release()
	defer large.Release()
	b := infer.ResponseBacklog{Limit: 4 * small.Size()}
	require.True(t, b.TryAdd(large), "the first response always has room")
	require.False(t, b.TryAdd(small))
	b.Remove(large.Size())
	for range 4 {
		require.True(t, b.TryAdd(small))
	}
	require.False(t, b.TryAdd(small))
	b.Remove(small.Size())
	require.True(t, b.TryAdd(small))
	require.False(t, b.TryAdd(small))
	b.Clear()
	require.True(t, b.TryAdd(large))
	require.ErrorContains(t, b.Err(), "reads the stream too slowly")
}
