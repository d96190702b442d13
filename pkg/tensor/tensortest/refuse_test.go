package tensortest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor/tensortest"
)

func TestRules(t *testing.T) {
	t.Parallel()
	m := tensortest.New(nil)
	get := func(n int) bool {
		b, err := m.TryGet(n)
		if err == nil {
			b.Release()
			return true
		}
		require.ErrorIs(t, err, tensortest.ErrRefused)
		require.Panics(t, func() { m.Refuse(tensortest.Above(-1)); m.Get(n) })
		return false
	}
	require.True(t, get(1))
	m.Refuse(tensortest.Above(100))
	require.True(t, get(100))
	require.False(t, get(101))
	m.Refuse(tensortest.Nth(2))
	require.True(t, get(1))
	require.False(t, get(1))
	m.Refuse(nil)
	require.True(t, get(1))
	m.Refuse(tensortest.Sometimes(1, 0.25))
	n := m.Refused()
	for range 1000 {
		if b, err := m.TryGet(1); err == nil {
			b.Release()
		}
	}
	require.InDelta(t, 250, m.Refused()-n, 100)
	require.Zero(t, m.Outstanding())
}
