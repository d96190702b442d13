package instance_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
)

// limitedBy puts the instances of a group behind a rate limiter.
func limitedBy(t *testing.T, l *scheduler.RateLimiter, instances ...scheduler.LimitedInstance) func(*instance.Options) {
	t.Helper()
	g, err := l.Add(instances)
	require.NoError(t, err)
	return queued(func(o *scheduler.Options) { o.Gate = g })
}

func needs(priority uint32, all ...scheduler.ResourceNeed) scheduler.LimitedInstance {
	return scheduler.LimitedInstance{Priority: priority, Needs: all}
}

// saturate keeps a group busy for that long and returns the number of answered requests.
func saturate(g *instance.Group, long time.Duration) int {
	var all sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	begin := time.Now()
	for range 3 {
		all.Go(func() {
			for time.Since(begin) < long {
				if call(context.Background(), g, request("", 1)) == nil {
					mu.Lock()
					answered++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return answered
}

// The timelines of the specification for two models of equal load.
func TestModelsShareByTheirPriorities(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given []scheduler.Resource
		want  []int
	}{
		"one at a time": {nil, []int{80, 40}},
		"room for both": {[]scheduler.Resource{{Name: "R1", Count: 6}, {Name: "R2", Count: 2}}, []int{120, 120}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, exec := scheduler.NewRateLimiter(test.given), 10*time.Millisecond
				m1, _ := group(t, batching(1, 0), &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(exec)}, 1,
					limitedBy(t, l, needs(1, scheduler.ResourceNeed{Name: "R1", Count: 4})))
				m2, _ := group(t, batching(1, 0), &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(exec)}, 1,
					limitedBy(t, l, needs(2, scheduler.ResourceNeed{Name: "R1", Count: 2}, scheduler.ResourceNeed{Name: "R2", Count: 2, Global: true})))
				got := make([]int, 2)
				var both sync.WaitGroup
				for i, g := range []*instance.Group{m1, m2} {
					both.Go(func() { got[i] = saturate(g, 1200*time.Millisecond) })
				}
				both.Wait()
				for i := range got {
					require.InDelta(t, test.want[i], got[i], 6, "model %d", i+1)
				}
			})
		})
	}
}

// As NVIDIA's server ran these requests.
func TestTheWeightSaysWhoIsNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, exec := scheduler.NewRateLimiter(nil), 200*time.Millisecond
		one := scheduler.ResourceNeed{Name: "E", Count: 1}
		e1, e2 := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(exec)}, &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(exec)}
		m, _ := group(t, batching(1, 0), e1, 1, limitedBy(t, l, needs(1, one)))
		n, _ := group(t, batching(1, 0), e2, 1, limitedBy(t, l, needs(2, one)))
		var all sync.WaitGroup
		ask := func(g *instance.Group, times int) {
			for range times {
				all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
			}
		}
		ask(m, 1)
		time.Sleep(100 * time.Millisecond)
		ask(m, 3)
		ask(n, 3)
		all.Wait()
		require.Equal(t, []string{"0: 1", "200: 1", "600: 1", "800: 1"}, e1.Rows())
		require.Equal(t, []string{"400: 1", "1000: 1", "1200: 1"}, e2.Rows())
	})
}

func TestTwoInstancesThatDoNotFitTogether(t *testing.T) {
	t.Parallel()
	for _, given := range [][]scheduler.Resource{nil, {{Name: "R1", Count: 6}, {Name: "R2", Count: 1}}} {
		synctest.Test(t, func(t *testing.T) {
			e := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(10 * time.Millisecond)}
			g, _ := group(t, batching(1, 0), e, 2, limitedBy(t, scheduler.NewRateLimiter(given),
				needs(1, scheduler.ResourceNeed{Name: "R1", Count: 4}), needs(1, scheduler.ResourceNeed{Name: "R1", Count: 2}, scheduler.ResourceNeed{Name: "R2", Count: 1})))
			n, want := saturate(g, time.Second), 100
			if given != nil {
				want = 200
			}
			require.InDelta(t, want, n, 4)
		})
	}
}

func TestBatchesFillWhileTheirInstanceWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		other, err := l.Add([]scheduler.LimitedInstance{needs(1, scheduler.ResourceNeed{Name: "R", Count: 1})})
		require.NoError(t, err)
		require.True(t, other.Acquire(0))
		g, counters := group(t, batching(8, 0, 4), &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(time.Millisecond)}, 1,
			limitedBy(t, l, needs(1, scheduler.ResourceNeed{Name: "R", Count: 1})))
		var all sync.WaitGroup
		for range 80 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
		}
		synctest.Wait()
		other.Release(0, true)
		all.Wait()
		sizes := counters.Counters().Sizes
		require.Len(t, sizes, 1)
		require.Equal(t, 4, sizes[0].Rows)
		require.EqualValues(t, 20, sizes[0].Count)
	})
}

func TestWhatWaitsForAResourceCanBeCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := scheduler.NewRateLimiter(nil)
		other, err := l.Add([]scheduler.LimitedInstance{needs(1, scheduler.ResourceNeed{Name: "R", Count: 1})})
		require.NoError(t, err)
		require.True(t, other.Acquire(0))
		e := &backendtest.Model{Begin: time.Now()}
		g, _ := group(t, batching(8, 0), e, 1, limitedBy(t, l, needs(1, scheduler.ResourceNeed{Name: "R", Count: 1})))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r := infer.NewUnpooled()
		require.ErrorIs(t, call(ctx, g, r), context.DeadlineExceeded)
		other.Release(0, true)
		require.NoError(t, call(t.Context(), g, request("", 1)))
		require.Len(t, e.Rows(), 1)
	})
}
