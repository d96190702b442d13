package scheduler_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/scheduler"
)

func add(t *testing.T, l *scheduler.RateLimiter, instances []scheduler.LimitedInstance) *scheduler.RateGate {
	t.Helper()
	g, err := l.Add(instances)
	require.NoError(t, err)
	return g
}

// busy runs batches of a slot, one after the other, for a time and returns their number.
func busy(g *scheduler.RateGate, slot int, batch, long time.Duration) (runs int) {
	for begin := time.Now(); time.Since(begin) < long; runs++ {
		if !g.Acquire(slot) {
			return runs
		}
		time.Sleep(batch)
	}
	g.Release(slot, true)
	return runs
}

func together(runs ...func() int) []int {
	counts := make([]int, len(runs))
	var wg sync.WaitGroup
	for i, run := range runs {
		wg.Go(func() { counts[i] = run() })
	}
	wg.Wait()
	return counts
}

// TestRateShares has the timelines of two models that are never without work.
func TestRateShares(t *testing.T) {
	t.Parallel()
	all := scheduler.AllDevices
	for name, test := range map[string]struct {
		given []scheduler.Resource
		want  []int // batches of 10 ms in 1.2 s
	}{
		"one at a time, by priority": {nil, []int{80, 40}},
		"room for both":              {[]scheduler.Resource{{"R1", 6, all}, {"R2", 2, all}}, []int{120, 120}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := scheduler.NewRateLimiter(test.given)
				m1, m2 := add(t, l, one(1, need("R1", 4))), add(t, l, one(2, need("R1", 2), shared("R2", 2)))
				counts := together(
					func() int { return busy(m1, 0, 10*time.Millisecond, 1200*time.Millisecond) },
					func() int { return busy(m2, 0, 10*time.Millisecond, 1200*time.Millisecond) },
				)
				for i, n := range counts {
					require.InDelta(t, test.want[i], n, 2, "model %d", i+1)
				}
			})
		})
	}
}

func TestTwoInstancesOfOneModel(t *testing.T) {
	t.Parallel()
	for want, given := range map[int][]scheduler.Resource{
		50:  nil, // R1 is 4: one at a time
		100: {{"R1", 6, 0}, {"R2", 1, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := add(t, scheduler.NewRateLimiter(given), []scheduler.LimitedInstance{
				{Needs: []scheduler.ResourceNeed{need("R1", 4)}}, {Needs: []scheduler.ResourceNeed{need("R1", 2), need("R2", 1)}},
			})
			counts := together(
				func() int { return busy(g, 0, 10*time.Millisecond, time.Second) },
				func() int { return busy(g, 1, 10*time.Millisecond, time.Second) },
			)
			require.InDelta(t, want, counts[0], 2)
			require.InDelta(t, want, counts[1], 2)
		})
	}
}

func TestOnlyTheFirstOfTheQueueIsTried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter([]scheduler.Resource{{"R", 4, 0}})
		half, whole, small := add(t, l, one(1, need("R", 2))), add(t, l, one(1, need("R", 4))), add(t, l, one(1, need("R", 1)))
		require.True(t, half.Acquire(0))
		var order []string
		var wg sync.WaitGroup
		wait := func(name string, g *scheduler.RateGate) {
			wg.Go(func() {
				require.True(t, g.Acquire(0))
				order = append(order, name)
				g.Release(0, true)
			})
			synctest.Wait()
		}
		wait("whole", whole)
		wait("small", small) // it would fit
		require.Empty(t, order)
		half.Release(0, true)
		wg.Wait()
		require.Equal(t, []string{"whole", "small"}, order)
		require.EqualValues(t, 2+1, half.Weight(0))
	})
}

func TestAllThatFitStartAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		whole, one1, one2 := add(t, l, one(1, need("R", 2))), add(t, l, one(1, need("R", 1))), add(t, l, one(1, need("R", 1)))
		require.True(t, whole.Acquire(0))
		grants := make(chan bool, 2)
		for _, g := range []*scheduler.RateGate{one1, one2} {
			go func() { grants <- g.Acquire(0) }()
		}
		synctest.Wait()
		require.Empty(t, grants)
		whole.Release(0, true)
		synctest.Wait()
		require.Len(t, grants, 2)
	})
}

func TestAnUnusedGrantDoesNotCount(t *testing.T) {
	t.Parallel()
	g := add(t, scheduler.NewRateLimiter(nil), one(3, need("R", 1)))
	require.True(t, g.Acquire(0))
	g.Release(0, false)
	g.Release(0, true) // it has none
	require.EqualValues(t, 3*2, g.Weight(0))
	require.True(t, g.Acquire(0))
	require.True(t, g.Acquire(0))
	require.EqualValues(t, 3*3, g.Weight(0))
	g.Release(0, true)
	require.EqualValues(t, 3*4, g.Weight(0))
}

func TestWaitsEnd(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end func(g *scheduler.RateGate, cancel context.CancelFunc)
	}{
		"with the context": {func(_ *scheduler.RateGate, cancel context.CancelFunc) { cancel() }},
		"with an abort":    {func(g *scheduler.RateGate, _ context.CancelFunc) { g.Abort() }},
		"with a close":     {func(g *scheduler.RateGate, _ context.CancelFunc) { g.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := scheduler.NewRateLimiter([]scheduler.Resource{{"R", 4, 0}})
				hung, stuck, other := add(t, l, one(1, need("R", 2))), add(t, l, one(1, need("R", 4))), add(t, l, one(9, need("R", 1)))
				require.True(t, hung.Acquire(0))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done, next := make(chan error, 1), make(chan bool, 1)
				go func() { done <- stuck.Wait(ctx, 0) }()
				synctest.Wait()
				go func() { next <- other.Acquire(0) }()
				synctest.Wait()
				require.Empty(t, next, "it is behind one that never fits")
				test.end(stuck, cancel)
				require.ErrorIs(t, <-done, context.Canceled)
				require.True(t, <-next, "the queue goes on")
			})
		})
	}
	t.Run("after an abort", func(t *testing.T) {
		t.Parallel()
		g := add(t, scheduler.NewRateLimiter(nil), one(1, need("R", 1)))
		require.True(t, g.Acquire(0))
		g.Abort()
		require.False(t, g.Acquire(0), "it gives up its wait")
		require.False(t, g.Acquire(0))
		other := add(t, scheduler.NewRateLimiter(nil), one(1, need("R", 1)))
		require.True(t, other.Acquire(0))
	})
}

func TestPoolsFollowTheLoadedInstances(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		small, other := add(t, l, one(1, need("R", 1))), add(t, l, one(1, need("R", 1)))
		large := add(t, l, one(1, need("R", 2)))
		require.True(t, small.Acquire(0))
		require.True(t, other.Acquire(0), "there is room for two while the large one is loaded")
		large.Close()
		other.Release(0, true)
		done := make(chan bool, 1)
		go func() { done <- other.Acquire(0) }()
		synctest.Wait()
		require.Empty(t, done, "and for one after that")
		small.Close()
		require.True(t, <-done)
	})
}

func TestStress(t *testing.T) {
	t.Parallel()
	l := scheduler.NewRateLimiter(nil)
	var mu sync.Mutex
	used := 0
	use := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		used += n
		if used > 4 {
			t.Error("more is used than there is")
		}
	}
	keep := add(t, l, one(1, need("R", 4)))
	defer keep.Close()
	var wg sync.WaitGroup
	for n := 1; n <= 4; n++ {
		wg.Go(func() {
			for range 20 {
				g, err := l.Add([]scheduler.LimitedInstance{{Needs: []scheduler.ResourceNeed{need("R", uint64(n))}}, {Needs: []scheduler.ResourceNeed{need("R", uint64(n))}}})
				if err != nil {
					t.Error(err)
					return
				}
				var slots sync.WaitGroup
				for slot := range 2 {
					slots.Go(func() {
						for i := range 50 {
							if !g.Acquire(slot) {
								return
							}
							use(n)
							use(-n)
							if i%3 == 0 {
								g.Release(slot, i%2 == 0)
							}
						}
						g.Release(slot, true)
					})
				}
				if n == 3 {
					g.Abort()
				}
				slots.Wait()
				g.Close()
			}
		})
	}
	wg.Wait()
	require.True(t, keep.Acquire(0), "all is back")
}

func BenchmarkGrant(b *testing.B) {
	g, err := scheduler.NewRateLimiter(nil).Add(one(1, need("R1", 4), shared("R2", 1)))
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		g.Acquire(0)
		g.Release(0, true)
	}
}

// TestAPoolGrows loads a model while another one waits. The pool grows to the largest need,
// and the waiting slot gets its grant then, not only after the next release.
func TestAPoolGrows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		g := add(t, l, []scheduler.LimitedInstance{{Needs: []scheduler.ResourceNeed{need("R", 2)}}, {Needs: []scheduler.ResourceNeed{need("R", 2)}}})
		require.True(t, g.Acquire(0))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		granted := make(chan error, 1)
		go func() { granted <- g.Wait(ctx, 1) }()
		synctest.Wait()
		large := add(t, l, one(1, need("R", 4)))
		require.NoError(t, <-granted, "the second instance fits together with the first one now")
		g.Close()
		large.Close()
	})
}

// Instances are added to a version and removed from it while its others run. The pools follow.
func TestInstancesOfAVersionComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		g := add(t, l, one(1, need("R1", 2)))
		require.True(t, g.Acquire(0))
		larger := one(1, need("R1", 8))[0]
		require.NoError(t, g.Add(1, larger))
		require.Contains(t, l.String(), "Resource: R1\t Count: 8")
		granted := make(chan bool)
		go func() { granted <- g.Acquire(1) }()
		synctest.Wait()
		require.Empty(t, granted, "the other one still has a part of it")
		g.Release(0, true)
		require.True(t, <-granted)
		g.Release(1, true)
		g.Remove(0)
		require.NoError(t, g.Add(0, one(1, need("R1", 3))[0]), "the slot is used again")
		g.Remove(1)
		require.Contains(t, l.String(), "Resource: R1\t Count: 3")
		require.ErrorContains(t, g.Add(1, one(1, shared("R1", 1))[0]), "both global and device-specific")
		require.True(t, g.Acquire(0))
		g.Close()
		require.NotContains(t, l.String(), "R1")
	})
}

// Configured amounts bound an added instance as they bound those of a load.
func TestAnAddedInstanceNeedsTooMuch(t *testing.T) {
	t.Parallel()
	g := add(t, scheduler.NewRateLimiter([]scheduler.Resource{{"R1", 10, scheduler.AllDevices}}), one(1, need("R1", 2)))
	require.ErrorContains(t, g.Add(1, one(1, need("R1", 32))[0]), `Resource count for "R1" is limited to 10`)
	require.True(t, g.Acquire(0))
}
