package memory_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/memory"
)

// TestShares: callers that take all that they can get leave a part of the same size free, which the
// next one may use.
func TestShares(t *testing.T) {
	t.Parallel()
	const limit, step = 60 << 20, 1 << 20
	for n := 1; n <= 3; n++ {
		t.Run(fmt.Sprint(n, " callers"), func(t *testing.T) {
			t.Parallel()
			b := memory.New(limit)
			held := make([]memory.Charge, n)
			for i := range held {
				held[i] = b.NewCharge(memory.Messages)
				held[i].For(b.Enter(fmt.Sprint("key:", i)))
			}
			var refused error
			for taken := true; taken; { // in turns
				taken = false
				for i := range held {
					if err := held[i].Take(step); err != nil {
						refused = err
					} else {
						taken = true
					}
				}
			}
			for i := range held {
				require.Equal(t, limit/(n+1), held[i].Bytes())
			}
			require.True(t, memory.Exhausted(refused))
			require.Positive(t, b.CallersRefused())
			next := b.NewCharge(memory.Messages)
			next.For(b.Enter("key:next"))
			require.NoError(t, next.Take(limit/(n+1)/2))
			next.End()
			for i := range held {
				held[i].End()
			}
			require.Zero(t, b.Total())
		})
	}
}

// TestShareErrors: a refusal says whether to try again. What a caller takes of pools counts too.
func TestShareErrors(t *testing.T) {
	t.Parallel()
	b := memory.New(8 << 20)
	who := b.Enter("key:a")
	defer who.Leave()
	c, other := b.NewCharge(memory.Messages), b.NewCharge(memory.Messages)
	c.For(who)
	err := c.Expect(4<<20 + 1)
	require.Equal(t, status.InvalidArg, status.CodeOf(err), "never fits")
	require.NoError(t, other.Expect(4<<20+1), "of nobody")
	err = c.Take(4<<20 + 1)
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	require.NoError(t, b.Take(memory.Tensors, 3<<20, 0)) // as a pool does
	require.NoError(t, c.TakeForCaller(3<<20))
	second := c.Next()
	err = second.Take(2 << 20)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.EqualValues(t, 1, status.From(err).RetrySeconds())
	require.EqualValues(t, 3<<20, b.Total(), "what was refused is not counted")
	require.Error(t, second.TakeForCaller(3<<20))
	require.NoError(t, other.Take(4<<20))
	c.End()
	b.Return(memory.Tensors, 3<<20)
	require.NoError(t, second.Take(2<<20))
	second.End()
	other.End()
	require.Zero(t, b.Total())
}

// TestCallersAreForgotten: callers without requests take no memory, those that hold some stay. Nobody
// counts a caller without a name.
func TestCallersAreForgotten(t *testing.T) {
	t.Parallel()
	b := memory.New(8 << 20)
	require.Nil(t, b.Enter(""))
	busy, holds := b.Enter("key:busy"), b.Enter("key:holds")
	c := b.NewCharge(memory.Messages)
	c.For(holds)
	require.NoError(t, c.Take(1))
	holds.Leave()
	idle := b.Enter("key:idle")
	idle.Leave()
	for i := range 5000 {
		b.Enter(fmt.Sprint("jwt:", i)).Leave()
	}
	require.Same(t, busy, b.Enter("key:busy"))
	require.Same(t, holds, b.Enter("key:holds"))
	require.NotSame(t, idle, b.Enter("key:idle"))
	c.End()
}

// TestStreamOfCaller: of a caller that holds its share, the largest stream is cancelled, and none of
// the others'.
func TestStreamOfCaller(t *testing.T) {
	t.Parallel()
	b := memory.New(64 << 20)
	cancelled := make(chan string, 8)
	stream := func(caller, name string) *memory.Stream {
		return b.NewStream(b.Enter(caller), func() { cancelled <- name })
	}
	others, small, large := stream("key:a", "others"), stream("key:b", "small"), stream("key:b", "large")
	others.Grown(17 << 20)
	small.Grown(10 << 20)
	large.Grown(14 << 20)
	require.Equal(t, "large", <-cancelled)
	for _, s := range []*memory.Stream{others, small, large} {
		s.End()
	}
	require.Zero(t, b.Total())
	require.Empty(t, cancelled)
}
