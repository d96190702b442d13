package instance_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/stats"
)

func TestAQueuedRequestIsWithdrawnWhenItsCallerLeaves(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := &backendtest.Model{Time: backendtest.Takes(time.Second), Begin: time.Now()}
		g, counters := group(t, batching(8, 0), e, 1, change...)
		var all sync.WaitGroup
		all.Go(func() { require.NoError(t, call(context.Background(), g, request("runs", 1))) })
		synctest.Wait()
		ctx, cancel := context.WithTimeoutCause(context.Background(), 100*time.Millisecond, errors.New("the client hung up"))
		defer cancel()
		err := call(ctx, g, request("leaves", 1))
		require.Equal(t, 100*time.Millisecond, time.Since(e.Begin))
		require.Equal(t, status.Cancelled, code(err))
		require.Empty(t, err.Error(), "Triton's text for this is empty")
		require.ErrorContains(t, errors.Unwrap(err), "the client hung up")
		require.Zero(t, counters.Pending.Load())
		all.Wait()
		require.Equal(t, []string{"0: runs"}, e.Members())
		c := counters.Counters()
		require.EqualValues(t, 1, c.Failures[stats.Canceled])
		require.EqualValues(t, 1, c.Fail.Count)
		require.EqualValues(t, 100e6, c.Fail.Ns)
	})
}

// 1+2+2 meets no preferred size, 2+2 does.
func TestWhatAWithdrawalMakesDueRunsAtOnce(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := &backendtest.Model{Begin: time.Now()}
		g, _ := group(t, batching(32, 10*time.Second, 4, 8), e, 1, change...)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() { require.Equal(t, status.Cancelled, code(call(ctx, g, request("", 1)))) })
		for range 2 {
			synctest.Wait()
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 2))) })
		}
		all.Wait()
		require.Equal(t, []string{"1000: 4"}, e.Rows())
	})
}

func TestARunningRequestIsMarkedWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		abandoned := false
		e := &backendtest.Model{Begin: time.Now(), Run: func(_ context.Context, b *infer.Batch) error {
			time.Sleep(time.Second)
			abandoned = b.Abandoned()
			return nil
		}}
		g, counters := group(t, &inferencepb.ModelConfig{}, e, 1, handOver)
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		require.Equal(t, status.Cancelled, code(call(ctx, g, request("", 1))))
		require.Equal(t, 100*time.Millisecond, time.Since(e.Begin))
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, abandoned)
		require.EqualValues(t, 1, counters.Counters().Success.Count, "it ran to its end")
	})
}

// A caller that runs its batch itself cannot leave, but the backend sees that its client
// has disconnected.
func TestACallerThatRunsItselfIsMarkedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Begin: time.Now(), Run: func(_ context.Context, b *infer.Batch) error {
			for !b.Abandoned() {
				time.Sleep(7 * time.Millisecond)
			}
			return status.New(status.Cancelled, "stopped")
		}}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		require.EqualError(t, call(ctx, g, request("", 1)), "stopped")
		require.Equal(t, 105*time.Millisecond, time.Since(e.Begin), "at its next check")
	})
}

func TestACancelledRequestLeavesTheQueueAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Time: backendtest.Takes(time.Second), Begin: time.Now()}
		g, counters := group(t, batching(8, 0), e, 1)
		answers := make(infertest.Errors, 3)
		submit := func(r *infer.Request) {
			r.Sink = answers
			require.NoError(t, g.Submit(r))
			r.Release()
		}
		submit(request("runs", 1))
		synctest.Wait()
		cancelled := request("cancelled", 1)
		cancelled.Sink = answers
		require.NoError(t, g.Submit(cancelled))
		submit(request("stays", 1))
		cancelled.Cancel()
		require.Equal(t, status.Cancelled, code(<-answers))
		require.Zero(t, time.Since(e.Begin))
		require.EqualValues(t, 1, counters.Pending.Load())
		cancelled.Cancel()
		cancelled.Release()
		require.NoError(t, <-answers)
		require.NoError(t, <-answers)
		require.Equal(t, []string{"0: runs", "1000: stays"}, e.Members())
		require.EqualValues(t, 1, counters.Counters().Failures[stats.Canceled])
	})
}

func TestARequestCancelledBeforeItIsSubmittedNeverRuns(t *testing.T) {
	t.Parallel()
	e := &backendtest.Model{Begin: time.Now()}
	g, counters := group(t, batching(8, time.Hour), e, 1)
	answers := make(infertest.Errors, 1)
	r := request("", 1)
	r.Sink = answers
	r.Cancel()
	require.NoError(t, g.Submit(r))
	require.Equal(t, status.Cancelled, code(<-answers))
	r.Release()
	require.Empty(t, e.Rows())
	require.EqualValues(t, 1, counters.Counters().Failures[stats.Canceled])
}

// A batch that stops because all callers left is not a failure of the backend.
func TestABatchWithoutCallersIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Begin: time.Now(), Run: func(ctx context.Context, b *infer.Batch) error {
			for !b.Abandoned() {
				time.Sleep(time.Millisecond)
			}
			return backend.Interrupted(ctx)
		}}
		g, counters := group(t, &inferencepb.ModelConfig{}, e, 1)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		require.Equal(t, status.Cancelled, code(call(ctx, g, request("", 1))))
		time.Sleep(10 * time.Millisecond)
		c := counters.Counters()
		require.EqualValues(t, 1, c.Failures[stats.Canceled])
		require.Zero(t, c.Executions)
	})
}
