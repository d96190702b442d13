package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// fresh decides without a memo: a new policy walks over the whole queue. Evaluate must give
// the same decision.
func fresh(cfg *inferencepb.ModelConfig, delay time.Duration, queue *scheduler.PriorityQueue, now int64, flush bool) scheduler.Decision {
	p := scheduler.NewDynamicBatching(cfg)
	p.SetDelay(delay)
	last, memo := queue.Memo()
	queue.SetMemo(nil, nil)
	decision := p.Evaluate(queue, now, flush)
	queue.SetMemo(last, memo)
	return decision
}

// TestDecisionsAreThoseOfAWholeWalk makes random arrivals, cancellations, timeouts, batches,
// priorities, shapes and changes of the delay, and after each compares the decision with and
// without a memo.
func TestDecisionsAreThoseOfAWholeWalk(t *testing.T) {
	t.Parallel()
	decisionsOfAWholeWalk(t, nil)
}

// TestDecisionsWithCallers is the same with callers that take turns.
func TestDecisionsWithCallers(t *testing.T) {
	t.Parallel()
	decisionsOfAWholeWalk(t, []*infer.Caller{nil, {}, {Weight: 3}, {Class: infer.Interactive}, {Class: infer.Bulk}})
}

func decisionsOfAWholeWalk(t *testing.T, callers []*infer.Caller) {
	t.Helper()
	decisions := map[stats.CloseReason]int{}
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 7))
		cfg := randomConfig(r)
		rules := scheduler.RulesOf(cfg)
		rules.Fair = callers != nil
		p, queue := scheduler.NewDynamicBatching(cfg), scheduler.NewPriorityQueue(nil, rules)
		delay := time.Duration(cfg.GetDynamicBatching().MaxQueueDelayMicroseconds) * time.Microsecond
		now, waiting := int64(0), []*infer.Request(nil)
		for step := range 200 {
			now += r.Int64N(400_000)
			switch op := r.IntN(12); {
			case op < 7:
				q := shaped(r)
				if callers != nil {
					q.Caller = callers[r.IntN(len(callers))]
				}
				if queue.Push(q, now) == nil {
					waiting = append(waiting, q)
				}
			case op == 7 && len(waiting) > 0: // cancelled
				i := r.IntN(len(waiting))
				queue.Remove(waiting[i])
				waiting = slices.Delete(waiting, i, i+1)
			case op == 8:
				var rejected infer.List
				queue.Expire(now, &rejected)
				for q := rejected.Pop(); q != nil; q = rejected.Pop() {
					waiting = slices.DeleteFunc(waiting, func(o *infer.Request) bool { return o == q })
				}
			case op == 9 && r.IntN(4) == 0:
				delay = time.Duration(r.IntN(3)) * time.Millisecond
				p.SetDelay(delay)
			}
			if queue.Len() == 0 {
				continue
			}
			flush := r.IntN(20) == 0
			got := p.Evaluate(queue, now, flush)
			require.Equal(t, fresh(cfg, delay, queue, now, flush), got, "seed %d, step %d", seed, step)
			require.Equal(t, got, p.Evaluate(queue, now, flush), "evaluated again: seed %d, step %d", seed, step)
			if got.Count > 0 && r.IntN(2) == 0 {
				decisions[got.Why]++
				for range got.Count {
					q := queue.Pop()
					waiting = slices.DeleteFunc(waiting, func(o *infer.Request) bool { return o == q })
				}
			}
		}
	}
	for _, why := range []stats.CloseReason{stats.Full, stats.Preferred, stats.Shape, stats.Delay, stats.Flush, stats.Immediate} {
		require.Greater(t, decisions[why], 10, "%v", why)
	}
}

func randomConfig(r *rand.Rand) *inferencepb.ModelConfig {
	d := &inferencepb.ModelDynamicBatching{PriorityLevels: uint64(r.IntN(4))}
	if d.PriorityLevels > 0 {
		d.DefaultPriorityLevel = 1
	}
	cfg := &inferencepb.ModelConfig{
		MaxBatchSize:     int32(1 + r.IntN(24)),
		Input:            []*inferencepb.ModelInput{{Name: "IN", Dims: []int64{-1}}},
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d},
	}
	if r.IntN(3) > 0 {
		d.MaxQueueDelayMicroseconds = uint64(r.IntN(4000))
	}
	for n := int32(1 + r.IntN(8)); n <= cfg.MaxBatchSize && r.IntN(3) > 0; n += int32(1 + r.IntN(8)) {
		d.PreferredBatchSize = append(d.PreferredBatchSize, n)
	}
	if r.IntN(2) == 0 {
		d.DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{
			DefaultTimeoutMicroseconds: uint64(1 + r.IntN(8000)), AllowTimeoutOverride: true,
			TimeoutAction: inferencepb.ModelQueuePolicy_TimeoutAction(r.IntN(2)),
		}
	}
	return cfg
}

// shaped is a request of a few rows and one of two shapes.
func shaped(r *rand.Rand) *infer.Request {
	q := infer.NewUnpooled()
	q.Batch, q.Priority = 1+r.IntN(4)/2*r.IntN(3), uint64(r.IntN(5))
	if r.IntN(3) == 0 {
		q.TimeoutMicros = uint64(1 + r.IntN(3000))
	}
	in := q.AddInput()
	in.Name, in.Shape = "IN", tensor.Shape{int64(q.Rows()), 4}
	if r.IntN(6) == 0 {
		in.Shape[1] = 8
	}
	return q
}

// TestAnArrivalConsidersOnlyItself counts allocations: comparing shape tensors in two pieces
// allocates, so the allocations of a decision show how many requests it considered. It is
// not parallel, as it counts the allocations of the process.
func TestAnArrivalConsidersOnlyItself(t *testing.T) {
	cfg := config(1<<20, 10000)
	cfg.Input = []*inferencepb.ModelInput{{Name: "S", Dims: []int64{2}, IsShapeTensor: true}}
	p, queue := scheduler.NewDynamicBatching(cfg), scheduler.NewPriorityQueue(nil, scheduler.Rules{})
	arrive := func() {
		q := infer.NewUnpooled()
		in := q.AddInput()
		in.Name, in.Shape = "S", tensor.Shape{2}
		for range 2 {
			b := tensor.HeapBuffer(make([]byte, 4))
			in.Data.Append(b, 0, 4)
			b.Release()
		}
		require.NoError(t, queue.Push(q, 0))
	}
	for range 1000 {
		arrive()
	}
	require.Zero(t, p.Evaluate(queue, 0, false).Count)
	require.Zero(t, testing.AllocsPerRun(10, func() { p.Evaluate(queue, 0, false) }), "nothing has changed")
	bare := testing.AllocsPerRun(10, arrive)
	with := testing.AllocsPerRun(10, func() { arrive(); p.Evaluate(queue, 0, false) })
	require.LessOrEqual(t, with-bare, 8.0, "one comparison")
}

// BenchmarkArrivals puts a batch of requests of one row together while an instance
// is idle: each arrival evaluates the policy. Then the batch is taken.
func BenchmarkArrivals(b *testing.B) {
	for _, n := range []int{8, 64, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p, queue := scheduler.NewDynamicBatching(config(int32(n), 10000)), scheduler.NewPriorityQueue(nil, scheduler.Rules{})
			all := make([]*infer.Request, n)
			for i := range all {
				all[i] = queued(1, 0)
			}
			b.ReportAllocs()
			for b.Loop() {
				for i, r := range all {
					_ = queue.Push(r, 0)
					if decision := p.Evaluate(queue, 0, false); (decision.Count == n) != (i == n-1) {
						b.Fatal(i, decision)
					}
				}
				for range all {
					queue.Pop()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/request")
		})
	}
}
