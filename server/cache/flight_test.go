package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/stats"
)

type elsewhere struct{}

func (elsewhere) Withdraw(*infer.Request) bool { return true }

// TestWithdrawComesTooLate: a goroutine that cancels a follower may have read its queue before
// the follower became the leader. Then the request waits in the model's queue, and the flight
// must not answer it.
func TestWithdrawComesTooLate(t *testing.T) {
	t.Parallel()
	m := stats.NewModel("m", "1", 0)
	in := &flight{flights: newFlights(&Runner{opts: Options{Stats: m}})}
	r, other := infer.NewUnpooled(), infer.NewUnpooled()
	require.True(t, other.Enter(in))
	in.followers.Push(other)
	require.True(t, r.Enter(elsewhere{}))
	require.False(t, in.Withdraw(r))
	require.Equal(t, infer.Queued, r.State())
	require.Same(t, other, in.followers.Front())
	require.Zero(t, m.Counters().Fail.Count)
}
