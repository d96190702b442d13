package scheduler_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/invariant"
	"triton/server/infer"
	"triton/server/scheduler"
)

// fairQueue is a queue in which callers take turns.
type fairQueue struct {
	*scheduler.PriorityQueue
	t   *testing.T
	now int64
}

func newFairQueue(t *testing.T, r scheduler.Rules) *fairQueue {
	r.Fair = true
	return &fairQueue{scheduler.NewPriorityQueue(scheduler.NoBatching{}, r), t, 1}
}

// add adds requests of a caller with that many rows each.
func (q *fairQueue) add(by *infer.Caller, rows ...int) {
	for i, n := range rows {
		r := infer.NewUnpooled()
		r.Caller, r.Batch, r.ID = by, n, fmt.Sprint(i)
		require.NoError(q.t, q.Push(r, q.now))
	}
}

// callers returns the callers of all requests, in the order of service.
func (q *fairQueue) callers(names map[*infer.Caller]string) (order string) {
	for r := q.Pop(); r != nil; r = q.Pop() {
		order += names[r.Caller]
	}
	return order
}

func ones8() []int { return []int{1, 1, 1, 1, 1, 1, 1, 1} }

func TestCallersTakeTurns(t *testing.T) {
	t.Parallel()
	a, b, c := &infer.Caller{}, &infer.Caller{Weight: 3}, &infer.Caller{}
	now, soon, late := &infer.Caller{Class: infer.Interactive}, &infer.Caller{Class: infer.Standard}, &infer.Caller{Class: infer.Bulk}
	names := map[*infer.Caller]string{a: "a", b: "b", c: "c", nil: "-", now: "i", soon: "s", late: "z"}
	for name, test := range map[string]struct {
		add  func(q *fairQueue)
		want string
	}{
		"one caller": {func(q *fairQueue) { q.add(a, 1, 1, 1) }, "aaa"},
		"the second caller comes late": {func(q *fairQueue) {
			q.add(a, ones8()...)
			q.add(c, 1, 1, 1)
		}, "acacacaaaaa"},
		"a weight of three": {func(q *fairQueue) {
			q.add(a, 1, 1, 1)
			q.add(b, 1, 1, 1, 1, 1, 1)
		}, "abbbabbba"},
		"rows count": {func(q *fairQueue) {
			q.add(a, 4, 4)
			q.add(c, ones8()...)
		}, "accccacccc"},
		"classes": {func(q *fairQueue) {
			q.add(late, 1, 1)
			q.add(soon, 1, 1)
			q.add(now, 1, 1)
		}, "iisszz"},
		"nobody known is first in, first out": {func(q *fairQueue) { q.add(nil, 1, 1, 1) }, "---"},
		"requests that nobody sent share as one caller": {func(q *fairQueue) {
			q.add(a, 1, 1, 1)
			q.add(nil, 1, 1)
		}, "a-a-a"},
	} {
		q := newFairQueue(t, scheduler.Rules{})
		test.add(q)
		require.Equal(t, test.want, q.callers(names), name)
		require.Zero(t, q.Len(), name)
	}
}

// A level comes before the next one, whoever calls.
func TestTurnsWithinLevels(t *testing.T) {
	t.Parallel()
	q := newFairQueue(t, scheduler.Rules{Levels: 2, DefaultLevel: 2})
	bulk, standard := &infer.Caller{Class: infer.Bulk}, &infer.Caller{}
	q.add(standard, 1, 1)
	first := infer.NewUnpooled()
	first.Caller, first.Priority = bulk, 1
	require.NoError(t, q.Push(first, 1))
	require.Equal(t, 3, q.Ahead(&infer.Request{Caller: bulk}), "with level 1 before it")
	require.Same(t, first, q.Pop())
	require.Same(t, standard, q.Pop().Caller)
	require.Same(t, standard, q.Pop().Caller)
	require.Nil(t, q.Pop())
}

// backlog is a caller that always has requests waiting.
type backlog struct {
	*infer.Caller
	largest, served int
	last            uint64 // the number of its last request
}

// TestShares: of callers that always have requests waiting, each gets rows in proportion to its weight,
// up to one request of each, at any time, whatever others and timeouts do. This is the bound of
// start-time fair queueing.
func TestShares(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		q := newFairQueue(t, scheduler.Rules{})
		all := map[*infer.Caller]*backlog{}
		var order []*backlog
		for range 2 + rng.IntN(6) {
			b := &backlog{Caller: &infer.Caller{Weight: 1 + rng.Uint32N(20)}, largest: 1 + rng.IntN(32)}
			all[b.Caller], order = b, append(order, b)
		}
		visitor := &infer.Caller{Weight: 5}
		number := uint64(0)
		push := func(by *infer.Caller, rows int) *infer.Request {
			number++
			r := infer.NewUnpooled()
			r.Caller, r.Batch, r.SequenceID = by, rows, number
			require.NoError(t, q.Push(r, 1))
			return r
		}
		for _, b := range order {
			for range 3 {
				push(b.Caller, 1+rng.IntN(b.largest))
			}
		}
		for range 2000 {
			if rng.IntN(4) == 0 {
				push(visitor, 1+rng.IntN(8)) // comes and goes
			}
			if rng.IntN(3) == 0 { // one is withdrawn: that costs its caller nothing
				if r := push(order[rng.IntN(len(order))].Caller, 64); r.Position.Undecided {
					q.Remove(r)
				}
			}
			r := q.Pop()
			b := all[r.Caller]
			if b == nil {
				continue
			}
			require.Greater(t, r.SequenceID, b.last, "seed %d: the order of one caller", seed)
			b.last = r.SequenceID
			b.served += r.Batch
			push(b.Caller, 1+rng.IntN(b.largest))
			for _, x := range order {
				for _, y := range order {
					got := float64(x.served)/float64(x.Weight) - float64(y.served)/float64(y.Weight)
					bound := float64(x.largest)/float64(x.Weight) + float64(y.largest)/float64(y.Weight)
					if got > bound+1e-3 {
						t.Fatalf("seed %d: weights %d and %d: %v apart, may be %v", seed, x.Weight, y.Weight, got, bound)
					}
				}
			}
		}
	}
}

// A caller whose requests leave the queue without having run has used nothing of its share.
func TestRemovedRequestsCostNothing(t *testing.T) {
	t.Parallel()
	q := newFairQueue(t, scheduler.Rules{DefaultPolicy: scheduler.QueuePolicy{Timeout: 10}})
	a, b := &infer.Caller{}, &infer.Caller{}
	q.add(a, make([]int, 1000)...)
	q.add(b, 1)
	q.Pop()
	q.Pop()
	var gone infer.List
	q.Expire(20, &gone)
	require.Equal(t, 999, gone.Len())
	for gone.Pop() != nil {
	}
	q.now = 20
	q.add(b, 1, 1)
	q.add(a, 1, 1)
	require.Equal(t, "baba", q.callers(map[*infer.Caller]string{a: "a", b: "b"}))
}

// At its limit the queue gives up the last request of the caller who uses most of it.
func TestRoomInAFullQueue(t *testing.T) {
	t.Parallel()
	q := newFairQueue(t, scheduler.Rules{DefaultPolicy: scheduler.QueuePolicy{Limit: 4, Timeout: 1e9}})
	noisy, other, bulk := &infer.Caller{Weight: 2}, &infer.Caller{}, &infer.Caller{Class: infer.Bulk}
	push := func(by *infer.Caller) bool {
		r := infer.NewUnpooled()
		r.Caller = by
		return q.Push(r, 1) == nil
	}
	dropped := func() *infer.Request {
		r := q.Dropped().Full.Pop()
		require.Zero(t, q.Dropped().Len())
		return r
	}
	for range 4 {
		require.True(t, push(noisy))
	}
	require.False(t, push(noisy), "its own")
	require.True(t, push(other))
	require.Same(t, noisy, dropped().Caller)
	require.False(t, push(other), "two to three with twice the weight")
	require.Nil(t, dropped())
	require.Equal(t, 4, q.Len())
	require.False(t, push(bulk), "a later class")
	q.Remove(q.firstOf(noisy))
	require.True(t, push(bulk))
	require.True(t, push(noisy), "an earlier class")
	require.Same(t, bulk, dropped().Caller)
	require.Equal(t, 4, q.Len())
	require.NotZero(t, q.Deadline())
	n := 0
	for q.Pop() != nil {
		n++
	}
	require.Equal(t, 4, n)
	require.Zero(t, q.Deadline(), "those that were given up have none")
}

// firstOf returns the first request of a caller; it decides about the turns before it.
func (q *fairQueue) firstOf(by *infer.Caller) *infer.Request {
	for r := q.Front(); r != nil; r = q.After(r) {
		if r.Caller == by {
			return r
		}
	}
	return nil
}

// TestOperations compares the queue with a plain set under random operations: nothing is lost, and the
// walk is what Pop returns.
func TestOperations(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 2))
		rules := scheduler.Rules{DefaultPolicy: scheduler.QueuePolicy{Limit: 30, Timeout: 50, DelayExpired: seed%2 == 0}}
		if seed%3 > 0 {
			rules.Levels, rules.DefaultLevel = 3, 2
		}
		if seed%5 == 0 {
			rules.Shed = scheduler.Shed{Target: 10, Interval: 20}
		}
		q := newFairQueue(t, rules)
		callers := []*infer.Caller{nil, {}, {Weight: 7}, {Class: infer.Bulk}, {Class: infer.Interactive}}
		in := map[*infer.Request]bool{}
		leave := func(r *infer.Request) {
			require.True(t, in[r], "seed %d", seed)
			delete(in, r)
		}
		for range 3000 {
			q.now += rng.Int64N(3)
			switch rng.IntN(6) {
			case 0, 1, 2:
				r := infer.NewUnpooled()
				r.Caller, r.Batch, r.Priority = callers[rng.IntN(len(callers))], 1+rng.IntN(9), rng.Uint64N(4)
				in[r] = q.Push(r, q.now) == nil
				if !in[r] {
					delete(in, r)
				}
			case 3:
				var gone infer.List
				q.Expire(q.now, &gone)
				for r := gone.Pop(); r != nil; r = gone.Pop() {
					leave(r)
				}
			case 4:
				for r := range in {
					q.Remove(r)
					leave(r)
					break
				}
			case 5:
				if q.Evaluate(q.now, false).Count == 0 {
					break
				}
				first := q.Front()
				second := q.After(first)
				require.Same(t, first, q.Pop())
				leave(first)
				require.Same(t, second, q.Front(), "seed %d", seed)
			}
			for d := q.Dropped(); d.Len() > 0; {
				if r := d.Full.Pop(); r != nil {
					leave(r)
				}
				if r := d.Shed.Pop(); r != nil {
					leave(r)
				}
			}
			require.Equal(t, len(in), q.Len(), "seed %d", seed)
		}
		for r := q.Pop(); r != nil; r = q.Pop() {
			leave(r)
		}
		require.Empty(t, in, "seed %d", seed)
	}
}

// Callers that come once each leave nothing behind, and callers that stay are not allocated for again.
func TestManyCallers(t *testing.T) {
	q := newFairQueue(t, scheduler.Rules{})
	r := infer.NewUnpooled()
	stays := &infer.Caller{}
	for range 10_000 {
		r.Caller = &infer.Caller{}
		require.NoError(t, q.Push(r, 1))
		require.Same(t, r, q.Pop())
	}
	r.Caller = stays
	if invariant.Enabled {
		return // allocations differ with the race detector
	}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		_ = q.Push(r, 1)
		q.Pop()
	}))
}

// What turns cost: n callers with 64 requests each.
func BenchmarkTurns(b *testing.B) {
	for _, n := range []int{0, 1, 10, 1000} {
		b.Run(fmt.Sprintf("callers=%d", n), func(b *testing.B) {
			q := scheduler.NewPriorityQueue(scheduler.NoBatching{}, scheduler.Rules{Fair: true})
			for i := range 64 * max(n, 1) {
				r := infer.NewUnpooled()
				if n > 0 {
					r.Caller = &infer.Caller{}
					if i >= n {
						r.Caller = nil
					}
				}
				if err := q.Push(r, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				r := q.Pop()
				_ = q.Push(r, 1)
			}
		})
	}
}
