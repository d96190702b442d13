package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
)

// phase is a stretch of random arrivals.
type phase struct {
	perSecond float64
	requests  int
}

func arrivals(phases ...phase) []simulate.Arrival {
	r := rand.New(rand.NewPCG(9, 9))
	var all []simulate.Arrival
	at := 0.0
	for _, p := range phases {
		for range p.requests {
			at += r.ExpFloat64() / p.perSecond * 1e9
			all = append(all, simulate.Arrival{At: time.Duration(at)})
		}
	}
	return all
}

// run is a trace under the controller.
type run struct {
	*simulate.Result
	trace  []simulate.Arrival
	delays []time.Duration // that were set, with the first
	rows   float64         // of a batch, on average
}

// The backend needs 1 ms for a batch and 50 us for a row: 32 rows at once are
// 12 300 a second.
func control(g scheduler.DelayGoal, start time.Duration, instances int, trace []simulate.Arrival, cost ...func(int) time.Duration) run {
	cfg := &inferencepb.ModelConfig{MaxBatchSize: 32, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
		DynamicBatching: &inferencepb.ModelDynamicBatching{MaxQueueDelayMicroseconds: uint64(start.Microseconds())},
	}}
	policy := scheduler.NewDynamicBatching(cfg)
	out := run{trace: trace}
	m := simulate.Model{Config: cfg, Policy: policy, Instances: instances, Cost: simulate.Linear(time.Millisecond, 50*time.Microsecond)}
	if len(cost) > 0 {
		m.Cost = cost[0]
	}
	if g.Target > 0 {
		m.Observer = scheduler.NewDelayController(scheduler.DelayOptions{DelayGoal: g, Start: start, Set: func(d time.Duration) {
			policy.SetDelay(d)
			out.delays = append(out.delays, d)
		}})
	}
	out.Result = simulate.Run(m, trace)
	out.rows = float64(len(trace)) / float64(len(out.Batches))
	return out
}

// p99 is that of a part of the requests.
func (r *run) p99(from, to int) time.Duration {
	all := slices.Clone(r.Latency[from:to])
	slices.Sort(all)
	return all[(99*len(all)+99)/100-1]
}

// TestHolds: after the start the latency stays below the target for every load and first delay.
// The batches are larger than without a delay where the target allows it, and the delay
// converges.
func TestHolds(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	for _, instances := range []int{1, 2} {
		for _, rate := range []float64{200, 1000, 4000, 8000} {
			for _, start := range []time.Duration{0, 50 * time.Millisecond} {
				goal := scheduler.DelayGoal{Target: 20 * time.Millisecond, Limit: 20 * time.Millisecond}
				trace := arrivals(phase{rate, 30_000})
				got := control(goal, start, instances, trace)
				plain := control(scheduler.DelayGoal{}, 0, instances, trace)
				p99 := got.p99(len(trace)/4, len(trace))
				name := fmt.Sprintf("%d instances, %.0f a second, first delay %v: p99 %v, %.1f rows against %.1f, %d delays up to %v",
					instances, rate, start, p99, got.rows, plain.rows, len(got.delays), got.delays[len(got.delays)-1])
				t.Log(name)
				require.Less(t, p99, goal.Target, name)
				require.Greater(t, got.rows, 1.5*plain.rows, name)
				require.Less(t, len(got.delays), 20, name)
			}
		}
	}
}

// TestLoadChanges: light, nearly saturated, light again.
func TestLoadChanges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	goal := scheduler.DelayGoal{Target: 10 * time.Millisecond, Limit: 10 * time.Millisecond}
	const n = 40_000
	trace := arrivals(phase{500, n}, phase{11_500, 4 * n}, phase{500, n})
	got := control(goal, 0, 1, trace)
	require.Less(t, got.p99(n/4, n), goal.Target)
	require.Less(t, got.p99(2*n, 5*n), goal.Target, "after some time under load")
	require.Less(t, got.p99(5*n+n/4, 6*n), goal.Target)
	require.Greater(t, got.delays[len(got.delays)-1], 5*time.Millisecond, "the delay is back")
}

// TestSlowerBackend: batches take four times as long from some moment on, as on a
// device that others use too, and later no more.
func TestSlowerBackend(t *testing.T) {
	t.Parallel()
	goal := scheduler.DelayGoal{Target: 10 * time.Millisecond, Limit: 10 * time.Millisecond}
	const n = 20_000
	trace := arrivals(phase{500, 3 * n})
	done := 0
	cost := func(rows int) time.Duration {
		done += rows
		once := time.Millisecond + time.Duration(rows)*50*time.Microsecond
		if done > n && done < 2*n {
			once *= 4
		}
		return once
	}
	got := control(goal, 0, 1, trace, cost)
	for part := range 3 {
		require.Less(t, got.p99(part*n+n/4, (part+1)*n), goal.Target, "part %d: %v", part, got.delays)
	}
	require.Greater(t, got.delays[len(got.delays)-1], 5*time.Millisecond)
	require.Less(t, slices.Min(got.delays[3:]), 5*time.Millisecond)
	require.Less(t, len(got.delays), 30)
}

// TestOverload: for a target that no delay can meet the delay falls to zero, and the throughput
// stays.
func TestOverload(t *testing.T) {
	t.Parallel()
	goal := scheduler.DelayGoal{Target: 10 * time.Millisecond, Limit: 10 * time.Millisecond}
	trace := arrivals(phase{500, 5000}, phase{20_000, 50_000}, phase{500, 20_000})
	got := control(goal, 0, 1, trace)
	require.Contains(t, got.delays, time.Duration(0))
	require.Less(t, got.p99(60_000, 75_000), goal.Target, "after the overload")
	require.Greater(t, got.delays[len(got.delays)-1], 5*time.Millisecond)
}
