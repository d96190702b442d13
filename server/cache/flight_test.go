package cache

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
	"triton/server/stats"
)

type elsewhere struct{}

func (elsewhere) Withdraw(*infer.Request) bool { return true }

// TestWithdrawComesTooLate: whoever cancels a follower may have looked where it
// waits before it became the leader. Then it waits with the model, and is not the
// flight's to answer.
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
