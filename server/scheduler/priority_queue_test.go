package scheduler_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
)

// naive is a queue as the rules describe it, by exhaustive search.
type naive struct {
	rules   scheduler.Rules
	waiting []*naiveEntry
	order   int
}

type naiveEntry struct {
	request  *infer.Request
	level    uint64
	deadline int64
	delayed  int // when, counted; 0: not
	order    int
}

func (n *naive) rule(level uint64) scheduler.QueuePolicy {
	if r, ok := n.rules.Policies[level]; ok {
		return r
	}
	return n.rules.DefaultPolicy
}

func (n *naive) push(r *infer.Request, now int64) bool {
	n.order++
	e := &naiveEntry{request: r, order: n.order}
	if n.rules.Levels > 0 {
		e.level = n.rules.DefaultLevel
		if r.Priority > 0 && r.Priority <= n.rules.Levels {
			e.level = r.Priority
		}
	}
	rule, there := n.rule(e.level), 0
	for _, o := range n.waiting {
		if o.level == e.level {
			there++
		}
	}
	if rule.Limit > 0 && there >= rule.Limit {
		return false
	}
	if rule.Timeout > 0 {
		e.deadline = now + rule.Timeout
		if own := int64(r.TimeoutMicros) * 1000; rule.Override && own > 0 && own < rule.Timeout {
			e.deadline = now + own
		}
	}
	n.waiting = append(n.waiting, e)
	return true
}

// ordered returns the waiting requests in the order of service.
func (n *naive) ordered() []*infer.Request {
	slices.SortFunc(n.waiting, func(a, b *naiveEntry) int {
		return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(min(a.delayed, 1), min(b.delayed, 1)),
			cmp.Compare(a.delayed, b.delayed), cmp.Compare(a.order, b.order))
	})
	var all []*infer.Request
	for _, e := range n.waiting {
		all = append(all, e.request)
	}
	return all
}

func (n *naive) remove(r *infer.Request) {
	n.waiting = slices.DeleteFunc(n.waiting, func(e *naiveEntry) bool { return e.request == r })
}

// expire expires requests by deadline, then by arrival.
func (n *naive) expire(now int64) []*infer.Request {
	var rejected []*infer.Request
	due := slices.DeleteFunc(slices.Clone(n.waiting), func(e *naiveEntry) bool { return e.deadline == 0 || e.deadline > now })
	slices.SortFunc(due, func(a, b *naiveEntry) int {
		return cmp.Or(cmp.Compare(a.deadline, b.deadline), cmp.Compare(a.order, b.order))
	})
	for _, e := range due {
		if n.rule(e.level).DelayExpired {
			n.order++
			e.deadline, e.delayed = 0, n.order
			continue
		}
		rejected = append(rejected, e.request)
		n.remove(e.request)
	}
	return rejected
}

func (n *naive) deadline() int64 {
	first := int64(0)
	for _, e := range n.waiting {
		if e.deadline != 0 && (first == 0 || e.deadline < first) {
			first = e.deadline
		}
	}
	return first
}

func walk(l *scheduler.PriorityQueue) []*infer.Request {
	var all []*infer.Request
	for r := l.Front(); r != nil; r = l.After(r) {
		all = append(all, r)
	}
	return all
}

var lineRules = map[string]scheduler.Rules{
	"plain":    {},
	"limit":    {DefaultPolicy: scheduler.QueuePolicy{Limit: 5}},
	"reject":   {DefaultPolicy: scheduler.QueuePolicy{Timeout: 50_000, Override: true}},
	"delay":    {DefaultPolicy: scheduler.QueuePolicy{Timeout: 50_000, Override: true, DelayExpired: true, Limit: 9}},
	"fixed":    {DefaultPolicy: scheduler.QueuePolicy{Timeout: 50_000}},
	"levels":   {Levels: 4, DefaultLevel: 2},
	"infinite": {Levels: math.MaxUint64, DefaultLevel: 1 << 32, DefaultPolicy: scheduler.QueuePolicy{Timeout: 80_000, Override: true}},
	"mixed": {Levels: 3, DefaultLevel: 3, DefaultPolicy: scheduler.QueuePolicy{Timeout: 70_000, DelayExpired: true, Override: true}, Policies: map[uint64]scheduler.QueuePolicy{
		1: {Limit: 3, Timeout: 30_000}, 2: {},
	}},
}

// A priority queue follows the rules for random requests.
func TestPriorityQueue(t *testing.T) {
	t.Parallel()
	for name, rules := range lineRules {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(name, seed), func(t *testing.T) {
				t.Parallel()
				compareQueues(t, rules, rand.New(rand.NewPCG(seed, 1)))
			})
		}
	}
}

func compareQueues(t *testing.T, rules scheduler.Rules, rng *rand.Rand) {
	queue, model := scheduler.NewPriorityQueue(scheduler.NoBatching{}, rules), &naive{rules: rules}
	now := int64(1)
	for step := range 300 {
		now += rng.Int64N(8) * 1000
		switch rng.IntN(10) {
		case 0:
			require.Same(t, queue.Front(), queue.Pop())
			if waiting := model.ordered(); len(waiting) > 0 {
				model.remove(waiting[0])
			}
		case 1:
			if waiting := model.ordered(); len(waiting) > 0 {
				r := waiting[rng.IntN(len(waiting))]
				queue.Remove(r)
				model.remove(r)
			}
		case 2, 3:
			var rejected infer.List
			queue.Expire(now, &rejected)
			for _, want := range model.expire(now) {
				require.Same(t, want, rejected.Pop())
			}
			require.Zero(t, rejected.Len())
		default:
			r := infer.NewUnpooled()
			r.ID, r.Priority, r.TimeoutMicros = fmt.Sprint(step), []uint64{0, 1, 2, 3, 7, 1 << 40}[rng.IntN(6)], uint64(rng.IntN(100))
			err := queue.Push(r, now)
			require.Equal(t, model.push(r, now), err == nil)
			if err != nil {
				require.EqualError(t, err, fmt.Sprintf("[request id: %d] Exceeds maximum queue size", step))
			}
		}
		require.True(t, slices.Equal(model.ordered(), walk(queue)))
		require.Equal(t, len(model.waiting), queue.Len())
		require.Equal(t, model.deadline(), queue.Deadline())
		require.Equal(t, min(queue.Len(), 1), queue.Evaluate(now, false).Count)
	}
}

func TestRulesOf(t *testing.T) {
	t.Parallel()
	cfg := &inferencepb.ModelConfig{SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
		PriorityLevels: 1 << 63, DefaultPriorityLevel: 1 << 32,
		DefaultQueuePolicy: &inferencepb.ModelQueuePolicy{MaxQueueSize: 8, DefaultTimeoutMicroseconds: 5},
		PriorityQueuePolicy: map[uint64]*inferencepb.ModelQueuePolicy{
			7: {TimeoutAction: inferencepb.ModelQueuePolicy_DELAY, DefaultTimeoutMicroseconds: math.MaxUint64, AllowTimeoutOverride: true},
		},
	}}}
	require.Equal(t, scheduler.Rules{
		Levels: 1 << 63, DefaultLevel: 1 << 32, DefaultPolicy: scheduler.QueuePolicy{Limit: 8, Timeout: 5000},
		Policies: map[uint64]scheduler.QueuePolicy{7: {Timeout: 1 << 51 * 1000, Override: true, DelayExpired: true}},
	}, scheduler.RulesOf(cfg))
	require.Zero(t, scheduler.RulesOf(&inferencepb.ModelConfig{}))
}

// Ten thousand requests with different timeouts wait: adding and removing a request must not
// visit all of them.
func BenchmarkPriorityQueue(b *testing.B) {
	for name, rules := range map[string]scheduler.Rules{
		"plain":    {},
		"timeouts": {DefaultPolicy: scheduler.QueuePolicy{Timeout: 1 << 50, Override: true}},
		"levels":   {Levels: 1 << 20, DefaultLevel: 1},
	} {
		b.Run(name, func(b *testing.B) {
			queue, rng := scheduler.NewPriorityQueue(nil, rules), rand.New(rand.NewPCG(1, 1))
			push := func(r *infer.Request) {
				r.Priority, r.TimeoutMicros = rng.Uint64N(1<<20), 1+rng.Uint64N(1<<30)
				if err := queue.Push(r, 0); err != nil {
					b.Fatal(err)
				}
			}
			for range 10_000 {
				push(infer.NewUnpooled())
			}
			b.ReportAllocs()
			for b.Loop() {
				push(queue.Pop())
			}
		})
	}
}
