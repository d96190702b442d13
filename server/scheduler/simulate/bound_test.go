package simulate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler/simulate"
)

// earliestEnds returns the bound that no scheduler can beat on one instance: its element
// i is the earliest moment at which i+1 requests of a trace can have been answered, by
// the best schedule for just that number with all arrivals known in advance. Requests
// have one row, and cost does not fall with the rows.
//
// The bound is exact. Requests of one row are alike, so some best schedule for n of them
// takes the first n in their order, and its last batch is the last k: it starts when
// request n has arrived and the best schedule for the first n-k has ended.
func earliestEnds(trace []simulate.Arrival, maxBatch int, cost func(rows int) time.Duration) []time.Duration {
	costs := make([]time.Duration, maxBatch+1)
	for k := 1; k <= maxBatch; k++ {
		costs[k] = cost(k)
	}
	ends := make([]time.Duration, len(trace)+1)
	for n := 1; n <= len(trace); n++ {
		best := time.Duration(math.MaxInt64)
		for k := 1; k <= min(n, maxBatch); k++ {
			best = min(best, max(ends[n-k], trace[n-1].At)+costs[k])
		}
		ends[n] = best
	}
	return ends[1:]
}

// TestEarliestEnds compares with all schedules of a few requests: every way to put
// any of them into batches, in any order.
func TestEarliestEnds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		n, maxBatch := 1+r.IntN(6), 1+r.IntN(4)
		cost := simulate.Linear(time.Duration(r.IntN(10)), time.Duration(1+r.IntN(5)))
		var trace []simulate.Arrival
		at := time.Duration(0)
		for range n {
			at += time.Duration(r.IntN(15))
			trace = append(trace, simulate.Arrival{At: at})
		}
		best := make([]time.Duration, n)
		for i := range best {
			best[i] = 1 << 60
		}
		search(trace, maxBatch, cost, 0, 0, best)
		require.Equal(t, best, earliestEnds(trace, maxBatch, cost), "%v %d", trace, maxBatch)
	}
}

// search tries all next batches of requests that are not in done.
func search(trace []simulate.Arrival, maxBatch int, cost func(int) time.Duration, done uint, now time.Duration, best []time.Duration) {
	for batch := uint(1); batch < 1<<len(trace); batch++ {
		rows, count, start := 0, 0, now
		for i := range trace {
			if batch>>i&1 == 1 {
				rows++
				start = max(start, trace[i].At)
			}
			if (batch|done)>>i&1 == 1 {
				count++
			}
		}
		if batch&done != 0 || rows > maxBatch {
			continue
		}
		end := start + cost(rows)
		best[count-1] = min(best[count-1], end)
		search(trace, maxBatch, cost, done|batch, end, best)
	}
}

// loads are shares of what an instance can do with full batches.
var loads = []struct {
	name  string
	share float64
}{{"light", 0.3}, {"near saturation", 0.95}, {"overload", 1.5}}

const (
	synthMax   = 32
	synthBatch = time.Millisecond
	synthRow   = 50 * time.Microsecond
)

// capacity is the requests per second of full batches.
func capacity(batch, row time.Duration) float64 {
	return synthMax / simulate.Linear(batch, row)(synthMax).Seconds()
}

// shares compares, for each tenth of the time, the number of answered requests with the bound.
func shares(trace []simulate.Arrival, ends []time.Duration, cost func(int) time.Duration) (whole, worst float64) {
	best := earliestEnds(trace, synthMax, cost)
	sort.Slice(ends, func(i, j int) bool { return ends[i] < ends[j] })
	by := func(all []time.Duration, at time.Duration) float64 {
		return float64(sort.Search(len(all), func(i int) bool { return all[i] > at }))
	}
	last := best[len(best)-1]
	worst = 1
	for tenth := time.Duration(1); tenth <= 10; tenth++ {
		at := last * tenth / 10
		worst = min(worst, by(ends, at)/by(best, at))
	}
	return last.Seconds() / ends[len(ends)-1].Seconds(), worst
}

// TestThroughput: the batcher, which does not know the future, answers within
// 5 % as many requests as the best schedule for the same arrivals, over the whole
// and at each tenth of the time.
func TestThroughput(t *testing.T) {
	t.Parallel()
	cost := simulate.Linear(synthBatch, synthRow)
	for _, load := range loads {
		for _, delay := range []uint64{0, 500, 2000} {
			for seed := range uint64(5) {
				cfg := batching(synthMax, &inferencepb.ModelDynamicBatching{MaxQueueDelayMicroseconds: delay})
				trace := poisson(seed, 20_000, load.share*capacity(synthBatch, synthRow))
				result := simulate.Run(simulate.Model{Config: cfg, Cost: cost}, trace)
				require.Equal(t, len(trace), result.Count(simulate.Answered))
				ends := make([]time.Duration, len(trace))
				for i := range ends {
					ends[i] = trace[i].At + result.Latency[i]
				}
				whole, worst := shares(trace, ends, cost)
				name := fmt.Sprintf("%s, delay %d us, seed %d: %.4f of the best, %.4f at the worst tenth", load.name, delay, seed, whole, worst)
				require.Greater(t, whole, 0.95, name)
				require.Greater(t, worst, 0.95, name)
				if seed == 0 {
					t.Log(name)
				}
			}
		}
	}
}
