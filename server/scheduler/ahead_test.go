package scheduler_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/scheduler"
)

func TestAhead(t *testing.T) {
	t.Parallel()
	push := func(l *scheduler.PriorityQueue, priority uint64, timeout int64) {
		r := infer.NewUnpooled()
		r.Priority, r.TimeoutMicros = priority, uint64(timeout)
		require.NoError(t, l.Push(r, 1))
	}
	ahead := func(l *scheduler.PriorityQueue, priority uint64) int {
		r := infer.NewUnpooled()
		r.Priority = priority
		return l.Ahead(r)
	}
	one := scheduler.NewPriorityQueue(scheduler.NoBatching{}, scheduler.Rules{})
	push(one, 7, 0)
	require.Equal(t, 1, ahead(one, 0))

	l := scheduler.NewPriorityQueue(scheduler.NoBatching{}, scheduler.Rules{
		Levels: 3, DefaultLevel: 2, DefaultPolicy: scheduler.QueuePolicy{Timeout: 1e9, Override: true, DelayExpired: true},
	})
	require.Zero(t, ahead(l, 1))
	push(l, 1, 0)
	push(l, 3, 0)
	push(l, 3, 0)
	push(l, 0, 0)
	push(l, 2, 1)
	for priority, want := range map[uint64]int{1: 1, 2: 3, 0: 3, 9: 3, 3: 5} {
		require.Equal(t, want, ahead(l, priority), "priority %d", priority)
	}
	l.Expire(2000, &infer.List{}) // the last waits on behind whoever comes in its level
	require.Equal(t, 2, ahead(l, 2))
	require.Equal(t, 5, ahead(l, 3))
}
