package traffic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/trafficrules"
)

// load is what the targets of a canary answer in one second: requests in all, the shares that fail,
// and the median latency of both.
type load struct {
	rate                int
	stableFail, newFail float64
	stable, canary      time.Duration
}

// run sends load to a canary for some seconds, or until it ends. It returns the shares that the
// canary had.
func run(c *canary, random *rand.Rand, l load, seconds int) (shares []float64) {
	for range seconds {
		if w := c.Weight(); len(shares) == 0 || shares[len(shares)-1] != w {
			shares = append(shares, w)
		}
		for range l.rate {
			isCanary := 100*random.Float64() < c.Weight()
			fail, median := l.stableFail, l.stable
			if isCanary {
				fail, median = l.newFail, l.canary
			}
			ns := int64(float64(median) * math.Exp(0.5*random.NormFloat64()))
			c.Choose(isCanary).Add(ns, random.Float64() < fail)
		}
		time.Sleep(time.Second)
		c.Tick(time.Now(), "")
	}
	if w := c.Weight(); shares[len(shares)-1] != w {
		shares = append(shares, w)
	}
	return shares
}

func testCanary(minSamples int) *canary {
	return newCanary(canaryOptions{Now: time.Now(), Config: &trafficrules.Canary{
		Target: trafficrules.Target{Version: "2"}, Stable: trafficrules.Target{Version: "1"}, StepSeconds: 60, MinSamples: minSamples,
	}})
}

// TestAdvance: a canary that is as good walks through the steps, each for its time and samples.
func TestAdvance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, random := testCanary(500), rand.New(rand.NewPCG(1, 1))
		good := load{200, 0.01, 0.01, 10 * time.Millisecond, 10 * time.Millisecond}
		require.Equal(t, []float64{1}, run(c, random, good, 60), "1 % of 200 requests a second is too few in a minute")
		require.Equal(t, trafficrules.CanaryProgressing, c.Status().State)
		require.Contains(t, c.Status().Reason, "of 500 requests of this step")
		require.Equal(t, []float64{1, 5, 25, 50, 100}, run(c, random, good, 900))
		st := c.Status()
		require.Equal(t, trafficrules.CanaryPromoted, st.State)
		require.Equal(t, 5, st.Step)
		require.False(t, c.Tick(time.Now(), "it is not ready"), "an ended canary does not change")
	})
}

// TestRollback: harm is found early, and the reason says which.
func TestRollback(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		load    load
		seconds int // within which the canary is rolled back
		reason  string
	}{
		{"all fail", load{200, 0, 1, time.Millisecond, time.Millisecond}, 30, "requests failed, of the stable target 0 of"},
		{"one in ten fails", load{2000, 0.001, 0.1, time.Millisecond, time.Millisecond}, 60, "requests failed"},
		{"slow", load{2000, 0, 0, 10 * time.Millisecond, 30 * time.Millisecond}, 60, "the 99th percentile of latency is above"},
		{"fast failures do not hide", load{2000, 0, 0.3, 10 * time.Millisecond, time.Millisecond}, 60, "requests failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				k := testCanary(500)
				shares := run(k, rand.New(rand.NewPCG(2, 2)), c.load, c.seconds)
				require.Equal(t, trafficrules.CanaryRolledBack, k.Status().State, "%v %s", shares, k.Status().Reason)
				require.Zero(t, k.Weight())
				require.Contains(t, k.Status().Reason, c.reason)
			})
		})
	}
}

// TestHarmAtTheLastStep: at 100 % the canary is compared with the stable target of the step before.
func TestHarmAtTheLastStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCanary(canaryOptions{Now: time.Now(), Config: &trafficrules.Canary{Steps: []float64{50, 100}, StepSeconds: 10, MinSamples: 100}})
		random := rand.New(rand.NewPCG(3, 3))
		good := load{100, 0, 0, time.Millisecond, time.Millisecond}
		require.Equal(t, []float64{50, 100}, run(c, random, good, 10))
		good.newFail = 0.5
		require.Equal(t, []float64{100, 0}, run(c, random, good, 10))
	})
}

// TestFalseAlarms: of many canaries that are not worse, no more are rolled back than the significance
// allows, although each step compares many times.
func TestFalseAlarms(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(4, 4))
		rolledBack := 0
		const canaries = 200
		zero := 0.0
		for range canaries {
			c := newCanary(canaryOptions{Now: time.Now(), Config: &trafficrules.Canary{
				Steps: []float64{50}, StepSeconds: 3600, MinSamples: 1, Significance: 0.1, MaxErrorIncrease: &zero, MaxP99Ratio: 1,
			}})
			run(c, random, load{100, 0.05, 0.05, time.Millisecond, time.Millisecond}, 60)
			if c.Status().State == trafficrules.CanaryRolledBack {
				rolledBack++
			}
		}
		require.LessOrEqual(t, rolledBack, canaries/10+3*4) // 3 standard deviations
	})
}

// TestWaiting: without one of its targets the canary waits, and the step begins again.
func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := testCanary(1)
		c.Choose(true).Add(1, false)
		require.True(t, c.Tick(time.Now(), "m:2 is not ready"))
		require.Equal(t, trafficrules.CanaryWaiting, c.Status().State)
		require.False(t, c.Tick(time.Now(), "m:2 is not ready"))
		time.Sleep(time.Hour)
		require.True(t, c.Tick(time.Now(), ""))
		require.Equal(t, trafficrules.CanaryProgressing, c.Status().State)
		require.Zero(t, c.Status().Canary.Requests)
		require.Equal(t, 1, c.Status().Step)
		c.Rollback(time.Now())
		require.False(t, c.Tick(time.Now(), ""))
		c.Promote(time.Now())
		require.Equal(t, 100.0, c.Weight())
	})
}

// TestFisher compares with the values of scipy.stats.fisher_exact(alternative="greater").
func TestFisher(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		failedS, n, failedC, m int64
		want                   float64
	}{
		{0, 2000, 20, 20, 4.6e-49}, // 1/C(2020,20)
		{1, 10, 3, 10, 0.2910216718266254},
		{0, 100, 1, 10, 10.0 / 110},
		{3, 10, 0, 10, 1},
		{0, 100, 0, 10, 1},
	} {
		got := fisher(c.failedS, c.n, c.failedC, c.m)
		if c.want < 1e-9 {
			require.Less(t, got, 1e-40)
			continue
		}
		require.InEpsilon(t, c.want, got, 1e-9, "%v", c)
	}
	// Where both apply, the z-test is close to the exact one.
	require.InDelta(t, fisher(100, 10000, 130, 10000), moreFailures(100, 10000, 130, 10000), 0.01)
}

// TestInterval: the interval of a quantile holds the true one as often as it promises, for several
// distributions.
func TestInterval(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	random := rand.New(rand.NewPCG(5, 5))
	for name, d := range map[string]struct {
		draw func() float64
		p99  float64
	}{
		"exponential": {random.ExpFloat64, math.Log(100)},
		"uniform":     {random.Float64, 0.99},
		"two values": {func() float64 {
			if random.Float64() < 0.02 {
				return 5
			}
			return 1
		}, 5},
	} {
		const runs, alpha = 1000, 0.05
		low, high := 0, 0
		for range runs {
			var w canaryWindow
			for range 2000 {
				w.record(int64(1e6*d.draw()), false)
			}
			s := w.sample()
			l, h := s.interval(canaryQuantile, alpha)
			if l > 1e6*d.p99 {
				low++
			}
			if h < 1e6*d.p99 {
				high++
			}
		}
		require.LessOrEqual(t, low, int(runs*alpha*1.6), name)
		require.LessOrEqual(t, high, int(runs*alpha*1.6), name)
	}
	var w canaryWindow
	for range 100 {
		w.record(1000, false)
	}
	s := w.sample()
	_, h := s.interval(canaryQuantile, 0.05)
	require.True(t, math.IsInf(h, 1), "100 requests do not bound the 99th percentile")
}

// TestBuckets: a bucket's bounds hold every value in it, and are close to it.
func TestBuckets(t *testing.T) {
	t.Parallel()
	var values []uint64
	for shift := range 62 {
		for _, d := range []uint64{0, 1, 3} {
			values = append(values, 1<<shift+d)
		}
	}
	slices.Sort(values)
	last := 0
	for _, v := range values {
		b := latencyBucket(v)
		require.GreaterOrEqual(t, b, last)
		require.Less(t, b, numBuckets)
		require.LessOrEqual(t, lowerBound(b), float64(v), fmt.Sprint(v))
		require.GreaterOrEqual(t, upperBound(b)*(1+1e-15), float64(v), fmt.Sprint(v))
		require.LessOrEqual(t, upperBound(b)-lowerBound(b), math.Max(1, float64(v)/subBuckets)*(1+1e-9))
		last = b
	}
	require.Less(t, latencyBucket(math.MaxUint64), numBuckets)
}
