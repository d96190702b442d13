package policy_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/access/policy"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
)

// load is what callers send in virtual time: quiet callers that send requests of one row at a rate that their
// quotas allow, and one that sends so many times its quota. The queue, the batcher and the quotas are those
// of the server.
type load struct {
	quiet  int
	rate   float64 // of each caller, per second
	noisy  float64 // times that rate; 0: there is none
	limits string  // of the file; empty: nobody is limited and callers are not known
	shed   scheduler.Shed
}

// run returns the 99th percentile of the latency of the quiet callers, and how many of their requests
// and of the noisy one's were answered, as a share.
func (n load) run(t *testing.T) (p99 time.Duration, quietAnswered, noisyAnswered float64) {
	t.Helper()
	const length = 20 * time.Second
	type sent struct {
		at   time.Duration
		from int
	}
	var all []sent
	arrivals := func(from int, rate float64) { // the same for every caller in every run
		rng := rand.New(rand.NewPCG(uint64(from), 17))
		for at := 0.; at < length.Seconds(); at += rng.ExpFloat64() / rate {
			all = append(all, sent{time.Duration(at * 1e9), from})
		}
	}
	for i := range n.quiet {
		arrivals(i, n.rate)
	}
	if n.noisy > 0 {
		arrivals(n.quiet, n.noisy*n.rate)
	}
	slices.SortStableFunc(all, func(a, b sent) int { return int(a.at - b.at) })

	c := newClock()
	begin := c.now
	var q *policy.Accounts
	var p *policy.Policy
	if n.limits != "" {
		q, p = table(t, c, n.limits)
	}
	who := make([]*policy.Principal, n.quiet+1)
	for i := range who {
		who[i] = policy.NewPrincipal(fmt.Sprintf("key:%d", i))
	}
	var trace []simulate.Arrival
	var from []int
	total := [2]float64{}
	kind := func(from int) int {
		if from == n.quiet {
			return 1
		}
		return 0
	}
	for _, s := range all {
		total[kind(s.from)]++
		a := simulate.Arrival{At: s.at}
		if q != nil {
			c.now = begin.Add(s.at)
			lease, r := q.Take(p.Limit(who[s.from], "m", ""), who[s.from], 100)
			if r.Quota != policy.QuotaNone {
				continue
			}
			a.Caller = lease.Caller()
			lease.Charge(1, 0)
			lease.Release()
		}
		trace, from = append(trace, a), append(from, s.from)
	}
	got := simulate.Run(simulate.Model{
		Config: &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 8, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
			DynamicBatching: &inferencepb.ModelDynamicBatching{},
		}},
		Cost: simulate.Linear(4*time.Millisecond, time.Millisecond/2), Shed: n.shed, // at most 1000 rows per second
	}, trace)
	var latency []time.Duration
	answered := [2]float64{}
	for i, o := range got.Outcomes {
		if o != simulate.Answered {
			continue
		}
		answered[kind(from[i])]++
		if from[i] < n.quiet {
			latency = append(latency, got.Latency[i])
		}
	}
	slices.Sort(latency)
	return latency[len(latency)*99/100], answered[0] / total[0], answered[1] / max(total[1], 1)
}

// quotas are the limits of callers that may each send 100 requests per second.
const quotas = "- {who: ['*'], requests_per_second: 100, burst: 100ms}"

// TestNoisyNeighbour: a caller at ten times its quota costs the others at most a tenth of their 99th
// percentile, compared with one that keeps to its quota. Without limits it costs them everything.
func TestNoisyNeighbour(t *testing.T) {
	t.Parallel()
	base := load{quiet: 4, rate: 90, noisy: 1, limits: quotas}
	alone, answered, _ := base.run(t)
	require.Greater(t, answered, 0.97, "bursts of random arrivals may exceed a quota")

	noisy := base
	noisy.noisy = 10. * 100 / 90
	with, same, share := noisy.run(t)
	t.Logf("the others' p99: %v next to a neighbor within its quota, %v next to one at ten times its quota (%.1f %% of its requests answered)",
		alone, with, share*100)
	require.InDelta(t, answered, same, 0, "not one more of the others' requests is refused")
	require.LessOrEqual(t, with, alone*11/10)
	require.InDelta(t, 0.1, share, 0.01, "it gets its quota")

	noisy.limits = ""
	without, _, _ := noisy.run(t)
	t.Logf("without limits: %v", without)
	require.Greater(t, without, 20*alone)
}

// TestTurnsProtect: without quotas too, callers that take turns are served as if the noisy one sent no
// more than a share. What the noisy one sends beyond waits, and is shed.
func TestTurnsProtect(t *testing.T) {
	t.Parallel()
	n := load{quiet: 4, rate: 90, noisy: 10, limits: "- {who: ['*'], weight: 1}"}
	n.shed = scheduler.Shed{Target: int64(50 * time.Millisecond), Interval: int64(100 * time.Millisecond)}
	with, answered, share := n.run(t)
	require.InDelta(t, 1, answered, 0, "nothing of the others is shed")
	require.Less(t, with, 30*time.Millisecond)
	require.InDelta(t, 640./900, share, 0.1, "what the others leave, and no more: %v", share)
	n.limits = ""
	n.shed = scheduler.Shed{}
	without, _, _ := n.run(t)
	t.Logf("the others' p99: %v with turns, %v without", with, without)
	require.Greater(t, without, 20*with)
}

// TestClassesProtect: an interactive caller does not notice how many requests of the batch class wait.
func TestClassesProtect(t *testing.T) {
	t.Parallel()
	n := load{quiet: 1, rate: 90, noisy: 20, limits: "- {who: ['key:0'], class: interactive}\n- {who: ['*'], class: batch}"}
	with, answered, _ := n.run(t)
	require.InDelta(t, 1, answered, 0)
	require.LessOrEqual(t, with, 24*time.Millisecond, "a batch that runs, one that is decided, and its own")
}

// TestShedding: a queue that is overloaded for long refuses what would wait too long, and a burst that
// is served soon is no overload.
func TestShedding(t *testing.T) {
	t.Parallel()
	n := load{quiet: 1, rate: 2000, limits: "- {who: ['*'], weight: 1}"}
	n.shed = scheduler.Shed{Target: int64(20 * time.Millisecond), Interval: int64(100 * time.Millisecond)}
	p99, answered, _ := n.run(t)
	t.Logf("twice the capacity: p99 %v, %.0f %% answered", p99, answered*100)
	require.Less(t, p99, 60*time.Millisecond)
	require.InDelta(t, 0.5, answered, 0.05, "the instance is never idle")
	n.rate = 700
	_, answered, _ = n.run(t)
	require.InDelta(t, 1, answered, 0, "70 %% of the capacity")
	var burst infer.Caller
	var trace []simulate.Arrival
	for i := range 10 {
		for range 80 { // 80 ms of work at once, each half second
			trace = append(trace, simulate.Arrival{At: time.Duration(i) * time.Second / 2, Caller: &burst})
		}
	}
	got := simulate.Run(simulate.Model{
		Config: &inferencepb.ModelConfig{MaxBatchSize: 8, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{}}},
		Cost:   simulate.Linear(4*time.Millisecond, time.Millisecond/2), Shed: n.shed,
	}, trace)
	require.Equal(t, len(trace), got.Count(simulate.Answered))
}
