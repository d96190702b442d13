package instance_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// arrival is a request of a timeline with queue policies. Its ID is its number
// in the timeline.
type arrival struct {
	at, rows int // ms
	priority uint64
	timeout  int // ms
}

// policies is a timeline of executions, "<ms>: <IDs>", and of errors, "<ms>:
// <ID> <text>".
type policies struct {
	cfg      *inferencepb.ModelConfig
	exec     int // ms
	hold     int
	arrivals []arrival
	ran      []string
	failed   []string
	rejected int // by the counter
}

const (
	expired = " Request timeout expired"
	reject  = inferencepb.ModelQueuePolicy_REJECT
	delay   = inferencepb.ModelQueuePolicy_DELAY
)

func full(id int) string { return fmt.Sprintf(" [request id: %d] Exceeds maximum queue size", id) }

func rule(action inferencepb.ModelQueuePolicy_TimeoutAction, ms uint64, override bool) *inferencepb.ModelQueuePolicy {
	return &inferencepb.ModelQueuePolicy{TimeoutAction: action, DefaultTimeoutMicroseconds: ms * 1000, AllowTimeoutOverride: override}
}

func with(cfg *inferencepb.ModelConfig, change func(*inferencepb.ModelDynamicBatching)) *inferencepb.ModelConfig {
	change(cfg.GetDynamicBatching())
	return cfg
}

// policed is a batcher with one rule for everything.
func policed(p *inferencepb.ModelQueuePolicy, delay time.Duration, preferred ...int32) *inferencepb.ModelConfig {
	return with(batching(32, delay, preferred...), func(d *inferencepb.ModelDynamicBatching) { d.DefaultQueuePolicy = p })
}

func prioritized(levels, by uint64, delay time.Duration) *inferencepb.ModelConfig {
	return with(batching(32, delay, 4, 8), func(d *inferencepb.ModelDynamicBatching) { d.PriorityLevels, d.DefaultPriorityLevel = levels, by })
}

// Those with a number are the rows of the reference's table.
var policyTimelines = map[string]policies{
	"2 delay": {
		cfg: policed(rule(delay, 100, false), 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1}, {at: 200, rows: 2}, {at: 200, rows: 2}},
		ran: []string{"200: 1 2", "10000: 0"},
	},
	"3 reject": {
		cfg: policed(rule(reject, 100, false), 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1}, {at: 200, rows: 2}, {at: 200, rows: 2}},
		ran: []string{"200: 1 2"}, failed: []string{"100: 0" + expired}, rejected: 1,
	},
	"4 a shorter timeout": {
		cfg: policed(rule(reject, 1000, true), 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1, timeout: 100}, {at: 200, rows: 2}, {at: 200, rows: 2}},
		ran: []string{"200: 1 2"}, failed: []string{"100: 0" + expired}, rejected: 1,
	},
	"5 a longer timeout does not count": {
		cfg: policed(rule(reject, 1000, true), 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1, timeout: 10000}, {at: 200, rows: 2}, {at: 200, rows: 2}},
		ran: []string{"1000: 1 2"}, failed: []string{"1000: 0" + expired}, rejected: 1,
	},
	"6 no timeout of its own": {
		cfg: policed(rule(reject, 1000, true), 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1}, {at: 200, rows: 2}, {at: 200, rows: 2}},
		ran: []string{"1000: 1 2"}, failed: []string{"1000: 0" + expired}, rejected: 1,
	},
	"7 nothing to shorten": {
		cfg: policed(rule(reject, 0, true), time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1, timeout: 50}},
		ran: []string{"1000: 0"},
	},
	"a timeout that may not be changed": {
		cfg: policed(rule(reject, 500, false), time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 1, timeout: 50}},
		failed: []string{"500: 0" + expired}, rejected: 1,
	},
	"8 priorities": {
		cfg: prioritized(2, 2, 10*time.Second), arrivals: []arrival{{at: 0, rows: 2}, {at: 100, rows: 1}, {at: 300, rows: 2, priority: 1}},
		ran: []string{"300: 2 0", "10100: 1"},
	},
	"9 large priorities": {
		cfg: prioritized(math.MaxUint64, 1<<32, 10*time.Second), arrivals: []arrival{{at: 0, rows: 2}, {at: 100, rows: 1, priority: 1 << 32}, {at: 300, rows: 2, priority: 1}},
		ran: []string{"300: 2 0", "10100: 1"},
	},
	"a level that is not there is the default": {
		cfg: prioritized(2, 1, 10*time.Second), arrivals: []arrival{{at: 0, rows: 1, priority: 2}, {at: 100, rows: 2, priority: 3}, {at: 200, rows: 2, priority: math.MaxUint64}},
		ran: []string{"200: 1 2", "10000: 0"},
	},
	"without levels a priority does not count": {
		cfg: batching(32, 10*time.Second, 4, 8), arrivals: []arrival{{at: 0, rows: 2, priority: 9}, {at: 100, rows: 2, priority: 1}},
		ran: []string{"100: 0 1"},
	},
	"10 everything": {
		cfg: with(batching(32, 10*time.Second, 4, 8, 32), func(d *inferencepb.ModelDynamicBatching) {
			d.PriorityLevels, d.DefaultPriorityLevel, d.DefaultQueuePolicy = 2, 2, rule(delay, 11000, true)
			d.PriorityQueuePolicy = map[uint64]*inferencepb.ModelQueuePolicy{2: rule(reject, 11000, true)}
		}),
		arrivals: []arrival{
			{at: 0, rows: 2, priority: 1},
			{at: 200, rows: 1, priority: 1, timeout: 1000},
			{at: 400, rows: 2, priority: 1},
			{at: 600, rows: 2, priority: 2, timeout: 2000},
			{at: 800, rows: 3, priority: 2},
			{at: 1000, rows: 6, priority: 2},
		},
		ran: []string{"1200: 0 2", "2600: 1 4", "11000: 5"}, failed: []string{"2600: 3" + expired}, rejected: 1,
	},
	"timeouts while the only instance is busy": {
		cfg: policed(rule(reject, 100, false), 0), exec: 1000, arrivals: []arrival{{at: 0, rows: 1}, {at: 50, rows: 1}, {at: 60, rows: 1}, {at: 950, rows: 1}},
		ran: []string{"0: 0", "1000: 3"}, failed: []string{"150: 1" + expired, "160: 2" + expired}, rejected: 2,
	},
	"a deadline is as long as the delay": {
		cfg: policed(rule(reject, 200, false), 200*time.Millisecond, 4), arrivals: []arrival{{at: 0, rows: 1}},
		failed: []string{"200: 0" + expired}, rejected: 1,
	},
	"what is delayed goes behind its level and before the next": {
		cfg: with(batching(1, 0), func(d *inferencepb.ModelDynamicBatching) {
			d.PriorityLevels, d.DefaultPriorityLevel, d.DefaultQueuePolicy = 3, 3, rule(delay, 300, true)
		}),
		exec: 1000, arrivals: []arrival{
			{at: 0, rows: 1},
			{at: 1, rows: 1, priority: 3},
			{at: 2, rows: 1, priority: 2},
			{at: 3, rows: 1, priority: 2, timeout: 50},
			{at: 900, rows: 1, priority: 2},
		},
		ran: []string{"0: 0", "1000: 4", "2000: 3", "3000: 2", "4000: 1"},
	},
	"the limit counts what is delayed, and one level only": {
		cfg: with(batching(1, 0), func(d *inferencepb.ModelDynamicBatching) {
			d.PriorityLevels, d.DefaultPriorityLevel = 2, 2
			d.DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{MaxQueueSize: 2, DefaultTimeoutMicroseconds: 100_000, TimeoutAction: delay}
		}),
		exec: 1000, arrivals: []arrival{{at: 0, rows: 1}, {at: 10, rows: 1}, {at: 200, rows: 1}, {at: 300, rows: 1}, {at: 310, rows: 1, priority: 1}},
		ran: []string{"0: 0", "1000: 4", "2000: 1", "3000: 2"}, failed: []string{"300: 3" + full(3)},
	},
	"what has timed out makes room": {
		cfg:  policed(&inferencepb.ModelQueuePolicy{MaxQueueSize: 1, DefaultTimeoutMicroseconds: 100_000}, 0),
		exec: 250, arrivals: []arrival{{at: 0, rows: 1}, {at: 50, rows: 1}, {at: 149, rows: 1}, {at: 160, rows: 1}},
		ran: []string{"0: 0", "250: 3"}, failed: []string{"149: 2" + full(2), "150: 1" + expired}, rejected: 1,
	},
	"held, all in time": {
		cfg: batching(8, 10*time.Second, 2, 6), hold: 3, arrivals: []arrival{{at: 0, rows: 3}, {at: 10, rows: 4}, {at: 11000, rows: 1}},
		ran: []string{"11000: 0 1 2"},
	},
	"held until six": {
		cfg: batching(8, 10*time.Second, 2, 6), hold: 6, arrivals: ones(6),
		ran: []string{"0: 0 1 2 3 4 5"},
	},
	"held until three": {
		cfg: batching(8, 10*time.Second, 2, 6), hold: 3, arrivals: ones(3),
		ran: []string{"0: 0 1", "10000: 2"},
	},
	"prompt 5": {cfg: batching(6, 0, 4, 6), hold: 5, arrivals: ones(5), ran: []string{"0: 0 1 2 3", "0: 4"}},
	"prompt 6": {cfg: batching(6, 0, 4, 6), hold: 6, arrivals: ones(6), ran: []string{"0: 0 1 2 3 4 5"}},
	"prompt 7": {cfg: batching(8, 0, 4, 6), hold: 7, arrivals: ones(7), ran: []string{"0: 0 1 2 3 4 5", "0: 6"}},
}

func ones(n int) []arrival {
	all := make([]arrival, n)
	for i := range all {
		all[i].rows = 1
	}
	return all
}

func TestQueuePolicies(t *testing.T) {
	t.Parallel()
	for name, p := range policyTimelines {
		t.Run(name+"/callers", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { p.run(t, true) })
		})
		t.Run(name+"/submitted", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { p.run(t, false) })
		})
	}
}

func (p policies) run(t *testing.T, callers bool) {
	e := &backendtest.Model{Time: backendtest.Takes(time.Duration(p.exec) * time.Millisecond), Begin: time.Now()}
	g, counters := group(t, p.cfg, e, 1, queued(func(o *scheduler.Options) { o.HoldUntil = p.hold }))
	synctest.Wait() // the instance is idle
	var failed notes
	var all sync.WaitGroup
	for i, a := range p.arrivals {
		time.Sleep(time.Duration(a.at)*time.Millisecond - time.Since(e.Begin))
		synctest.Wait() // what is due at this time has happened
		r := request(fmt.Sprint(i), a.rows)
		r.Priority, r.TimeoutMicros = a.priority, uint64(a.timeout)*1000
		all.Go(func() {
			if err := ask(g, r, callers); err != nil {
				failed.add(fmt.Sprintf("%d: %d %v", time.Since(e.Begin).Milliseconds(), i, err))
			}
		})
		synctest.Wait()
	}
	all.Wait()
	require.Equal(t, p.ran, e.Members())
	require.Equal(t, p.failed, failed.read())
	c := counters.Counters()
	require.EqualValues(t, p.rejected, c.Failures[stats.Rejected])
	require.EqualValues(t, p.rejected, c.Fail.Count, "what is refused at once changes no counter")
	require.EqualValues(t, len(p.arrivals)-len(p.failed), c.Success.Count)
	require.Zero(t, counters.Pending.Load())
}

// ask sends a request, as a unary caller or with a sink, and waits for its end.
func ask(g *instance.Group, r *infer.Request, caller bool) error {
	if caller {
		return call(context.Background(), g, r)
	}
	answers := make(infertest.Errors, 1)
	r.Sink = answers
	defer r.Release()
	if err := g.Submit(r); err != nil {
		r.Release() // the core's reference
		return err
	}
	return <-answers
}

type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(s string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, s)
}

func (n *notes) read() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}
