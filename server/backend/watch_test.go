package backend_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/infer"
)

func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		interrupts := 0
		w := backend.NewWatch(func() { interrupts++ })
		defer w.Close()
		one, two := infer.NewUnpooled(), infer.NewUnpooled()
		var b infer.Batch
		b.Add(one)
		b.Add(two)
		ctx, cancel := context.WithCancel(context.Background())

		w.Begin(ctx, &b)
		one.Cancel()
		time.Sleep(time.Second)
		synctest.Wait()
		require.False(t, w.End(), "a caller waits")

		w.Begin(ctx, &b)
		time.Sleep(time.Second)
		synctest.Wait()
		two.Cancel()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, interrupts)
		time.Sleep(time.Second)
		synctest.Wait()
		require.True(t, w.End())
		require.Equal(t, 1, interrupts, "once")
		require.Equal(t, status.Cancelled, status.CodeOf(backend.Interrupted(ctx)))

		w.Begin(ctx, &b)
		require.False(t, w.End(), "too short to look")
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 1, interrupts, "nothing runs")

		two = infer.NewUnpooled()
		b.Add(two)
		w.Begin(ctx, &b)
		cancel()
		time.Sleep(20 * time.Millisecond)
		synctest.Wait()
		require.True(t, w.End())
		require.Equal(t, 2, interrupts)
		require.Equal(t, status.Unavailable, status.CodeOf(backend.Interrupted(ctx)))

		w.Begin(ctx, &b)
		w.Close()
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, 2, interrupts, "closed")
	})
}

func BenchmarkWatch(b *testing.B) {
	b.ReportAllocs()
	w := backend.NewWatch(func() {})
	defer w.Close()
	var batch infer.Batch
	batch.Add(infer.NewUnpooled())
	for b.Loop() {
		w.Begin(b.Context(), &batch)
		w.End()
	}
}
