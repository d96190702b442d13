package memory_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestRefusals takes memory up to the limit: a part is kept for small requests, and what can never
// fit is told so.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := memory.New(8 << 20)
	large, small := b.NewCharge(memory.Messages), b.NewCharge(memory.Replies)
	err := large.Take(7<<20 + 1)
	require.True(t, memory.Exhausted(err))
	require.Equal(t, err, large.Expect(7<<20+1))
	require.Equal(t, status.InvalidArg, status.CodeOf(err), "never fits")
	require.Zero(t, status.From(err).RetryAfter)
	require.NoError(t, large.Take(7<<20))
	err = b.Take(memory.Tensors, 1<<20, 0)
	require.True(t, memory.Exhausted(err))
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	require.EqualValues(t, 1, status.From(err).RetrySeconds())
	require.NoError(t, small.Take(memory.Small))
	require.Error(t, small.Take(1), "it is not small any more")
	require.EqualValues(t, 7<<20, b.Used(memory.Messages))
	require.EqualValues(t, 1, b.Refused(memory.Tensors))
	begun := b.NewCharge(memory.Messages)
	require.NoError(t, begun.Expect(1<<20))
	require.Error(t, begun.Take(1), "a large request does not begin in the part of the small ones")
	large.End()
	require.NoError(t, small.Take(1))
	small.End()
	small.End()
	require.Zero(t, b.Total())
}

// TestWithoutLimit: a nil budget and one of 0 bytes refuse nothing.
func TestWithoutLimit(t *testing.T) {
	t.Parallel()
	for _, b := range []*memory.Budget{nil, memory.New(0)} {
		c := b.NewCharge(memory.Messages)
		require.NoError(t, c.Take(1<<40))
		require.NoError(t, c.Expect(1<<40))
		c.End()
	}
	s := (*memory.Budget)(nil).NewStream(nil, func() { t.Error("cancelled") })
	s.Grown(1 << 40)
	s.End()
}

// TestPools: buffers of pools count with the memory that they occupy, until their last release.
func TestPools(t *testing.T) {
	t.Parallel()
	b := memory.New(4 << 20)
	p := tensor.NewPoolOf(tensor.PoolOptions{Account: b.Pools()})
	buf, err := p.TryGet(1<<20 + 1)
	require.NoError(t, err)
	require.EqualValues(t, 2<<20, b.Total())
	_, err = p.TryGet(2 << 20)
	require.True(t, memory.Exhausted(err))
	buf.Retain().Release()
	require.EqualValues(t, 2<<20, b.Total())
	buf.Release()
	p.Count(100)
	require.EqualValues(t, 100, b.Total())
	p.Count(-100)
	require.Zero(t, b.Total())
}

// TestLargestStreamIsCancelled: when the memory is short, the stream that holds most goes first.
func TestLargestStreamIsCancelled(t *testing.T) {
	t.Parallel()
	b := memory.New(64 << 20)
	var mu sync.Mutex
	var cancelled []string
	done := make(chan struct{}, 3)
	stream := func(name string) *memory.Stream {
		return b.NewStream(nil, func() {
			mu.Lock()
			cancelled = append(cancelled, name)
			mu.Unlock()
			done <- struct{}{}
		})
	}
	small, large, ended := stream("small"), stream("large"), stream("ended")
	ended.Grown(60 << 20)
	<-done
	ended.End()
	small.Grown(2 << 20)
	large.Grown(20 << 20)
	require.NoError(t, b.Take(memory.Tensors, 34<<20, 0))
	require.Error(t, b.Take(memory.Tensors, 1<<20, 0))
	<-done
	large.End()
	small.End()
	require.EqualValues(t, 34<<20, b.Total())
	require.Equal(t, []string{"ended", "large"}, cancelled)
	require.EqualValues(t, 2, b.Cancelled())
}

// TestConcurrent takes and returns from many goroutines; run with the race detector.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	b := memory.New(1 << 20)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s := b.NewStream(nil, func() {})
			defer s.End()
			for i := range 1000 {
				c := b.NewCharge(memory.Kinds[i%len(memory.Kinds)])
				_ = c.Take(i * 512)
				s.Grown(i * 4096)
				c.End()
			}
		})
	}
	wg.Wait()
	require.Zero(t, b.Total())
}

// TestAllocations: counting allocates nothing, also for a caller that is known.
func TestAllocations(t *testing.T) {
	b := memory.New(1 << 30)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		who := b.Enter("key:a")
		c := b.NewCharge(memory.Messages)
		c.For(who)
		_ = c.Take(100)
		_ = c.TakeForCaller(100)
		c.End()
		who.Leave()
	}))
}

// BenchmarkTake measures one Take and its Return.
func BenchmarkTake(b *testing.B) {
	for _, kind := range []memory.Kind{memory.Tensors, memory.Messages} {
		for _, goroutines := range []int{1, 8} {
			b.Run(fmt.Sprintf("%v/%d", kind, goroutines), func(b *testing.B) {
				m := memory.New(1 << 30)
				each(b, goroutines, func() {
					_ = m.Take(kind, 1000, 0)
					m.Return(kind, 1000)
				})
			})
		}
	}
}

// BenchmarkCaller measures what a request costs beyond that if its caller is known.
func BenchmarkCaller(b *testing.B) {
	for _, goroutines := range []int{1, 8} {
		b.Run(strconv.Itoa(goroutines), func(b *testing.B) {
			m := memory.New(1 << 30)
			each(b, goroutines, func() {
				who := m.Enter("key:a")
				c := m.NewCharge(memory.Messages)
				c.For(who)
				_ = c.TakeForCaller(1000)
				c.End()
				who.Leave()
			})
		})
	}
}

// each runs f b.N times on some goroutines.
func each(b *testing.B, goroutines int, f func()) {
	b.ReportAllocs()
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for range b.N / goroutines {
				f()
			}
		})
	}
	wg.Wait()
}
