package cache_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/cache"
)

// TestNoMemoryIsNotCached has no memory for outputs that have to be copied.
func TestNoMemoryIsNotCached(t *testing.T) {
	t.Parallel()
	m := tensortest.New(nil)
	l := cache.NewLocal(1<<20, m.Pool)
	resp := response(tensor.NewPool(), 100, 'x') // of another pool: copied
	m.Refuse(tensortest.Above(-1))
	require.ErrorContains(t, l.Insert(cache.Key{1}, resp), "no memory to store a response")
	require.False(t, has(l, 1))
	require.Zero(t, l.Counts().Bytes)
	m.Refuse(nil)
	require.NoError(t, l.Insert(cache.Key{1}, resp))
	require.True(t, has(l, 1))
	resp.Release()
	require.NoError(t, l.Close())
	require.Zero(t, m.Outstanding())
}

// A request whose response cannot be stored gets it nevertheless.
func TestNoMemoryIsAnswered(t *testing.T) {
	t.Parallel()
	w, m := newWorld(t, setup{size: 1 << 20, instances: 1}), tensortest.New(nil)
	l := cache.NewLocal(1<<20, m.Pool)
	w.Runner = newRunner(w, l)
	m.Refuse(tensortest.Above(-1))
	require.Equal(t, "a", w.infer(context.Background(), "a"))
	require.Contains(t, w.log.String(), "no memory to store a response")
	m.Refuse(nil)
	require.NoError(t, l.Close())
}
