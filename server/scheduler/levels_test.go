package scheduler

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// A client may name any level: unused levels are removed.
func TestManyLevels(t *testing.T) {
	t.Parallel()
	q := NewPriorityQueue(NoBatching{}, Rules{Levels: 1 << 63, DefaultLevel: 1})
	const n = 1000
	for i := range n {
		r := infer.NewUnpooled()
		r.Priority = uint64(n - i)
		require.NoError(t, q.Push(r, 0))
	}
	for i := range n {
		require.EqualValues(t, 1+i, q.Pop().Priority)
	}
	require.Empty(t, q.levels)
	require.LessOrEqual(t, len(q.unused), maxUnusedLevels)
}
