package capacity

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestFewest compares the search with trying every number of instances, over random loads,
// targets, devices and slowdowns.
func TestFewest(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 0))
	found := 0
	for range 150 {
		slower := time.Duration(random.IntN(20))
		p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms}, CurvePoint{Batch: 1, Instances: 4, Time: (10 + slower) * ms})
		target := Target{P99: time.Duration(8+random.IntN(40)) * ms, PerDevice: random.IntN(5), Most: 1 + random.IntN(40)}
		load := Load{Rate: 20 + random.Float64()*2000, Rows: 1, Requests: 800, Seed: random.Uint64()}.Arrivals()
		s := Setting{Delay: NoDelay}
		want := 0
		for k := 1; k <= target.Most && want == 0; k++ {
			if target.Holds(p.Run(target.spread(s, k), load)) {
				want = k
			}
		}
		a := p.Fewest(s, load, target)
		if want == 0 {
			require.Nil(t, a.Holds)
			require.NotEmpty(t, a.Reason)
			continue
		}
		found++
		require.NotNil(t, a.Holds, "%+v %s", target, a.Reason)
		require.Equal(t, want, a.Holds.Setting.Instances)
		require.True(t, target.Holds(*a.Holds))
		require.Equal(t, want > 1, a.Fails != nil)
		if want > 1 {
			require.False(t, target.Holds(*a.Fails))
			require.Equal(t, want-1, a.Fails.Setting.Instances)
		}
		if target.PerDevice > 0 {
			require.Equal(t, (want+target.PerDevice-1)/target.PerDevice, a.Setting.Devices)
		}
	}
	require.Greater(t, found, 50)
}

// TestFewSteps: hundreds of instances are found in few runs.
func TestFewSteps(t *testing.T) {
	t.Parallel()
	p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms})
	a := p.Fewest(Setting{Delay: NoDelay}, Load{Rate: 20_000, Rows: 1, Requests: 5_000, Seed: 1}.Arrivals(), Target{P99: 12 * ms})
	require.NotNil(t, a.Holds)
	require.Greater(t, a.Holds.Setting.Instances, 190)
	require.Less(t, len(a.Tried), 12)
}

func TestReasons(t *testing.T) {
	t.Parallel()
	p := planner(t, CurvePoint{Batch: 1, Time: 10 * ms})
	load := Load{Rate: 1000, Rows: 1, Requests: 5000, Seed: 1}.Arrivals()
	s := Setting{Delay: NoDelay}
	require.Contains(t, p.Fewest(s, load, Target{P99: 100 * ms, Most: 3}).Reason, "3 instances are overloaded")
	require.Contains(t, p.Fewest(s, load, Target{P99: 5 * ms, Most: 64}).Reason, "p99 is 10ms even with 64 instances, which leave at most 0s")
	p.Queue = fifo{limit: 1}
	require.Contains(t, p.Fewest(s, load, Target{P99: 100 * ms, Most: 5}).Reason, "requests are refused by the queue policy even with 5 instances")
	a := p.Fewest(s, load, Target{P99: 100 * ms, Most: 64, Refused: 0.5})
	require.NotNil(t, a.Holds, "half of them may be refused")
	require.Greater(t, a.Holds.Rejected, 100)
	p.Queue = never{}
	require.Contains(t, p.Fewest(s, load, Target{P99: 100 * ms, Most: 4}).Reason, "5000 requests are never answered")
}

// never answers nothing.
type never struct{ fifo }

func (never) Open(_ Model, arrivals []Arrival) Trace {
	return Trace{Arrivals: arrivals, Fates: make([]Fate, len(arrivals)), Latency: make([]time.Duration, len(arrivals))}
}

func TestBetter(t *testing.T) {
	t.Parallel()
	answer := func(devices, instances int, p99 time.Duration) Answer {
		return Answer{Holds: &Outcome{Setting: Setting{Devices: devices, Instances: instances}, P99: p99}}
	}
	order := []Answer{answer(1, 2, 5*ms), answer(1, 2, 9*ms), answer(1, 3, ms), answer(2, 2, ms), {}}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, i < j, a.Better(b), "%d %d", i, j)
		}
	}
}
