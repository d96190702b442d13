package infer_test

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/infer"
)

// countingQueue counts withdrawn requests.
type countingQueue struct{ calls atomic.Int64 }

func (p *countingQueue) Withdraw(*infer.Request) bool { p.calls.Add(1); return false }

// TestCancelWhileItMoves cancels a request that moves from one queue to another, like one
// that waited for the answer to an equal request. Either a queue learns of the cancel or
// the second does not admit the request.
func TestCancelWhileItMoves(t *testing.T) {
	t.Parallel()
	for range 2000 {
		var first, second countingQueue
		r := infer.NewUnpooled()
		require.True(t, r.Enter(&first))
		done := make(chan struct{})
		go func() {
			defer close(done)
			r.Cancel()
		}()
		r.Move(infer.Queued, infer.Executing)
		r.PrepareRequeue()
		entered := r.Enter(&second)
		<-done
		if n := first.calls.Load() + second.calls.Load(); n > 1 || n == 0 && entered {
			t.Fatalf("called %d queues, the second accepted it: %t", n, entered)
		}
		r.Release()
		r.Release()
	}
}
