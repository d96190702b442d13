package adaptive

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler/dynamic"
	"triton/server/scheduler/simulate"
)

const ms = time.Millisecond

func TestStep(t *testing.T) {
	t.Parallel()
	goal := Goal{Target: 20 * ms, Limit: 15 * ms}
	calm := Window{P99: 7 * ms, Rate: 1000, Size: 2, NotFull: 1}
	rose := func(seen Window) State {
		return State{Delay: 7 * ms, Change: Longer, DelayBefore: 2 * ms, WindowBefore: seen}
	}
	for name, c := range map[string]struct {
		state State
		seen  Window
		want  State
	}{
		"room: half of it":                {State{Delay: 2 * ms}, calm, rose(calm)},
		"in the band":                     {State{Delay: 9 * ms}, Window{P99: 16 * ms, NotFull: 1}, State{Delay: 9 * ms}},
		"above: all of it":                {State{Delay: 9 * ms}, Window{P99: 21 * ms, Rate: 5}, State{Delay: 5 * ms, Pause: 4, PauseLeft: 4, Rate: 5}},
		"far above":                       {State{Delay: 9 * ms}, Window{P99: time.Second, Rate: 5}, State{Pause: 4, PauseLeft: 4, Rate: 5}},
		"above without a delay":           {State{}, Window{P99: time.Second, Rate: 5}, State{Pause: 4, PauseLeft: 4, Rate: 5}},
		"above again":                     {State{Delay: 9 * ms, Pause: 4, Rate: 5}, Window{P99: 20 * ms, Rate: 5}, State{Delay: 6 * ms, Pause: 8, PauseLeft: 8, Rate: 5}},
		"still above":                     {State{Delay: 6 * ms, Pause: 8, PauseLeft: 8, Rate: 5}, Window{P99: 20 * ms, Rate: 5}, State{Delay: 3 * ms, Pause: 8, PauseLeft: 8, Rate: 5}},
		"a pause":                         {State{Delay: 2 * ms, Pause: 4, PauseLeft: 2, Rate: 900}, calm, State{Delay: 2 * ms, Pause: 4, PauseLeft: 1, Rate: 900}},
		"another load ends the pause":     {State{Delay: 2 * ms, Pause: 4, PauseLeft: 2, Rate: 700}, calm, rose(calm)},
		"full batches need no more delay": {State{Delay: 2 * ms}, Window{P99: 7 * ms, NotFull: 0.04}, State{Delay: 2 * ms}},
		"a rise that pays":                {rose(calm), Window{P99: 16 * ms, Rate: 1000, Size: 2.5, NotFull: 1}, State{Delay: 7 * ms, DelayBefore: 2 * ms, WindowBefore: calm}},
		"a rise in vain":                  {rose(calm), Window{P99: 12 * ms, Rate: 500, Size: 2.1, NotFull: 1}, State{Delay: 2 * ms, DelayBefore: 2 * ms, WindowBefore: calm, Pause: 4, PauseLeft: 4, Rate: 1000, Shorten: true}},
		"a shorter one": {
			State{Delay: 2 * ms, Shorten: true, PauseLeft: 1},
			calm,
			State{Delay: ms, Shorten: true, PauseLeft: 1, Change: Shorter, DelayBefore: 2 * ms, WindowBefore: calm},
		},
		"which was too short": {
			State{Delay: ms, Shorten: true, Change: Shorter, DelayBefore: 2 * ms, WindowBefore: calm},
			Window{P99: 6 * ms, Size: 1.8, NotFull: 1},
			State{Delay: 2 * ms, DelayBefore: 2 * ms, WindowBefore: calm},
		},
		"the limit": {
			State{Delay: 14 * ms},
			Window{P99: 10 * ms, NotFull: 1},
			State{Delay: 15 * ms, Change: Longer, DelayBefore: 14 * ms, WindowBefore: Window{P99: 10 * ms, NotFull: 1}},
		},
	} {
		require.Equal(t, c.want, Step(goal, c.state, c.seen), name)
	}
}

// TestOneCaller has one caller that waits for each answer: it never shares a batch, and
// after some trials hardly ever waits for others.
func TestOneCaller(t *testing.T) {
	t.Parallel()
	s, waits := State{}, 0
	for range 1000 {
		took := ms + s.Delay
		s = Step(Goal{Target: 20 * ms, Limit: 20 * ms}, s, Window{P99: took, Rate: 1 / took.Seconds(), Size: 1, NotFull: 1})
		if s.Delay > 0 {
			waits++
		}
	}
	require.Less(t, waits, 25)
}

func TestP99(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		l, all := latencies{}, []int64{}
		for range 1 + r.IntN(3000) {
			v := int64(r.ExpFloat64() * float64(int64(1)<<r.IntN(44)))
			l.add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		want := all[(99*len(all)+99)/100-1]
		got := int64(l.p99())
		require.Greater(t, got, want)
		require.LessOrEqual(t, got, want+want/32+512)
	}
	l := latencies{}
	l.add(1<<63 - 1)
	l.add(-5)
	require.Positive(t, l.p99())
}

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
func control(g Goal, start time.Duration, instances int, trace []simulate.Arrival, cost ...func(int) time.Duration) run {
	cfg := &inferencepb.ModelConfig{MaxBatchSize: 32, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
		DynamicBatching: &inferencepb.ModelDynamicBatching{MaxQueueDelayMicroseconds: uint64(start.Microseconds())},
	}}
	policy := dynamic.New(cfg)
	out := run{trace: trace}
	m := simulate.Model{Config: cfg, Policy: policy, Instances: instances, Cost: simulate.Linear(ms, 50*time.Microsecond)}
	if len(cost) > 0 {
		m.Cost = cost[0]
	}
	if g.Target > 0 {
		m.Observer = New(Options{Goal: g, Start: start, Set: func(d time.Duration) {
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
	for _, instances := range []int{1, 2} {
		for _, rate := range []float64{200, 1000, 4000, 8000} {
			for _, start := range []time.Duration{0, 50 * ms} {
				goal := Goal{Target: 20 * ms, Limit: 20 * ms}
				trace := arrivals(phase{rate, 30_000})
				got := control(goal, start, instances, trace)
				plain := control(Goal{}, 0, instances, trace)
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
	goal := Goal{Target: 10 * ms, Limit: 10 * ms}
	const n = 40_000
	trace := arrivals(phase{500, n}, phase{11_500, 4 * n}, phase{500, n})
	got := control(goal, 0, 1, trace)
	require.Less(t, got.p99(n/4, n), goal.Target)
	require.Less(t, got.p99(2*n, 5*n), goal.Target, "after some time under load")
	require.Less(t, got.p99(5*n+n/4, 6*n), goal.Target)
	require.Greater(t, got.delays[len(got.delays)-1], 5*ms, "the delay is back")
}

// TestSlowerEngine: batches take four times as long from some moment on, as on a
// device that others use too, and later no more.
func TestSlowerBackend(t *testing.T) {
	t.Parallel()
	goal := Goal{Target: 10 * ms, Limit: 10 * ms}
	const n = 20_000
	trace := arrivals(phase{500, 3 * n})
	done := 0
	cost := func(rows int) time.Duration {
		done += rows
		once := ms + time.Duration(rows)*50*time.Microsecond
		if done > n && done < 2*n {
			once *= 4
		}
		return once
	}
	got := control(goal, 0, 1, trace, cost)
	for part := range 3 {
		require.Less(t, got.p99(part*n+n/4, (part+1)*n), goal.Target, "part %d: %v", part, got.delays)
	}
	require.Greater(t, got.delays[len(got.delays)-1], 5*ms)
	require.Less(t, slices.Min(got.delays[3:]), 5*ms)
	require.Less(t, len(got.delays), 30)
}

// TestOverload: for a target that no delay can meet the delay falls to zero, and the throughput
// stays.
func TestOverload(t *testing.T) {
	t.Parallel()
	goal := Goal{Target: 10 * ms, Limit: 10 * ms}
	trace := arrivals(phase{500, 5000}, phase{20_000, 50_000}, phase{500, 20_000})
	got := control(goal, 0, 1, trace)
	require.Contains(t, got.delays, time.Duration(0))
	require.Less(t, got.p99(60_000, 75_000), goal.Target, "after the overload")
	require.Greater(t, got.delays[len(got.delays)-1], 5*ms)
}
