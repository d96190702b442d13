package infer_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// place is a queue that counts who leaves it.
type place struct{ asked atomic.Int64 }

func (p *place) Withdraw(*infer.Request) bool { p.asked.Add(1); return false }

// TestCancelWhileItMoves: a request may be cancelled while it goes from one queue to
// another, as one does that waited for the answer to an equal request. It is told
// to the one or the other, or the second does not let it in.
func TestCancelWhileItMoves(t *testing.T) {
	t.Parallel()
	for range 2000 {
		var first, second place
		r := infer.NewUnpooled()
		require.True(t, r.Enter(&first))
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Cancel()
		}()
		r.Move(infer.Queued, infer.Executing)
		r.Again()
		entered := r.Enter(&second)
		<-done
		if n := first.asked.Load() + second.asked.Load(); n > 1 || n == 0 && entered {
			t.Fatalf("asked %d queues, the second let it in: %t", n, entered)
		}
		r.Release()
		r.Release()
	}
}
