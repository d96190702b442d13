package memory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/memory"
)

// slow is a message that does not end until it is stopped.
type slow struct {
	budget  *memory.Budget
	arrival *memory.Arrival
	stopped bool
}

func (s *slow) Stop() { s.stopped = true }

// begin takes memory for a message of that many bytes.
func begin(t *testing.T, b *memory.Budget, bytes int) *slow {
	t.Helper()
	require.NoError(t, b.Take(memory.Tensors, bytes, 0))
	s := &slow{budget: b}
	s.arrival = b.Arriving(bytes, s)
	return s
}

// TestSlowMessagesGiveWay fills the part of small requests with messages that do not end. From a second
// on the oldest are stopped when others need their memory.
func TestSlowMessagesGiveWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(8 << 20)
		require.Nil(t, begin(t, b, 1000).arrival, "the memory is not short")
		b.Return(memory.Tensors, 1000)
		require.NoError(t, b.Take(memory.Messages, 7<<20, 0))
		first, second := begin(t, b, 384<<9), begin(t, b, memory.Small) // of 192 and 256 KiB
		time.Sleep(time.Second / 2)
		third := begin(t, b, memory.Small)
		require.NoError(t, b.Take(memory.Tensors, memory.Small, 0)) // a request that runs
		require.Nil(t, b.Arriving(memory.Small+1, third), "not small")

		take := func() error { return b.Take(memory.Tensors, 100<<10, 0) }
		require.NoError(t, b.Take(memory.Tensors, 64<<10, 0)) // the rest
		require.Error(t, take(), "all are young")
		time.Sleep(time.Second / 2)
		require.Error(t, b.Take(memory.Tensors, 512<<10, 0), "it is not small")
		require.False(t, first.stopped)
		require.NoError(t, take())
		require.True(t, first.stopped)
		require.False(t, second.stopped)
		require.EqualValues(t, 1, b.Stopped())
		err := first.arrival.End()
		require.True(t, memory.Exhausted(err))
		require.ErrorContains(t, err, "arrived slowly")
		b.Return(memory.Tensors, 384<<9)

		require.NoError(t, second.arrival.End(), "it has arrived")
		require.Error(t, b.Take(memory.Tensors, memory.Small, 0), "the third is young")
		time.Sleep(time.Second)
		require.NoError(t, b.Take(memory.Tensors, memory.Small, 0))
		require.True(t, third.stopped)
		require.False(t, second.stopped)
		require.Error(t, third.arrival.End())
	})
}

// TestStoppedMemoryIsLate: while the memory of stopped messages has not come back, only so much more is
// given out.
func TestStoppedMemoryIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 << 20
		b := memory.New(limit)
		require.NoError(t, b.Take(memory.Messages, limit*7/8, 0))
		for range limit / 8 / memory.Small {
			begin(t, b, memory.Small)
		}
		for i := 0; ; i++ {
			time.Sleep(2 * time.Second)
			if b.Take(memory.Tensors, memory.Small, 0) != nil {
				break
			}
			s := &slow{}
			s.arrival = b.Arriving(memory.Small, s)
			require.Less(t, i, 100)
		}
		require.EqualValues(t, limit+limit/8, b.Total())
	})
}

// TestSlowMessagesGiveWayToCallers: also a caller with a share takes the place of slow messages.
func TestSlowMessagesGiveWayToCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := memory.New(8 << 20)
		require.NoError(t, b.Take(memory.Messages, 7<<20, 0))
		for range 4 {
			begin(t, b, memory.Small)
		}
		time.Sleep(time.Second)
		c := b.NewCharge(memory.Messages)
		c.For(b.Enter("key:a"))
		require.NoError(t, c.Take(memory.Small))
		require.EqualValues(t, 1, b.Stopped())
		next := c.Next()
		require.Error(t, next.Take(1), "it holds more than it leaves free")
	})
}
