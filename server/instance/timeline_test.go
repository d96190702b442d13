package instance_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// event is a request of a timeline.
type event struct {
	at    int // ms
	rows  int
	width int64 // of its variable input; 0: none
}

func times(n int, e event) []event {
	all := make([]event, n)
	for i := range all {
		all[i] = e
	}
	return all
}

type timeline struct {
	cfg       *inferencepb.ModelConfig
	exec      int // ms
	instances int
	events    []event
	want      []string // "<ms>: <rows>" of every execution
	sizes     map[int]uint64
}

var timelines = map[string]timeline{
	"default: one after the other": {
		cfg: &inferencepb.ModelConfig{}, exec: 100, instances: 1, events: times(3, event{rows: 1}),
		want: []string{"0: 1", "100: 1", "200: 1"}, sizes: map[int]uint64{1: 3},
	},
	"default: two instances": {
		cfg: &inferencepb.ModelConfig{}, exec: 100, instances: 2, events: times(5, event{rows: 1}),
		want: []string{"0: 1", "0: 1", "100: 1", "100: 1", "200: 1"}, sizes: map[int]uint64{1: 5},
	},
	"default: a batch of the client": {
		cfg: &inferencepb.ModelConfig{MaxBatchSize: 8}, instances: 1, events: []event{{rows: 5}},
		want: []string{"0: 5"}, sizes: map[int]uint64{5: 1},
	},
	"dynamic 1":  dynamicTimeline([]string{"0: 2"}, event{0, 2, 0}),
	"dynamic 2":  dynamicTimeline([]string{"0: 6"}, event{0, 6, 0}),
	"dynamic 3":  dynamicTimeline([]string{"10000: 1"}, event{0, 1, 0}),
	"dynamic 4":  dynamicTimeline([]string{"10000: 3"}, event{0, 3, 0}),
	"dynamic 5":  dynamicTimeline([]string{"0: 7"}, event{0, 7, 0}),
	"dynamic 6":  dynamicTimeline([]string{"10000: 4"}, event{0, 1, 0}, event{100, 3, 0}),
	"dynamic 7":  dynamicTimeline([]string{"100: 3", "100: 7"}, event{0, 3, 0}, event{100, 7, 0}),
	"dynamic 8":  dynamicTimeline([]string{"100: 3", "10100: 4"}, event{0, 3, 0}, event{100, 4, 0}),
	"dynamic 12": dynamicTimeline([]string{"100: 1", "10100: 1"}, event{0, 1, 16}, event{100, 1, 8}),
	"dynamic 13": {
		cfg: withInput(batching(8, 10*time.Second, 2, 6), true), instances: 1, events: []event{{0, 1, 16}, {100, 1, 8}}, want: []string{"100: 2"},
	},
	"dynamic 14": dynamicTimeline([]string{"100: 2"}, event{0, 1, 0}, event{100, 1, 0}),
	"dynamic 15": dynamicTimeline([]string{"200: 6"}, event{0, 1, 0}, event{100, 3, 0}, event{200, 2, 0}),
	"two instances share what a split leaves": {
		cfg: batching(8, 10*time.Second, 2, 6), exec: 1000, instances: 2, events: []event{{0, 3, 0}, {100, 7, 0}},
		want: []string{"100: 3", "100: 7"},
	},
	"growth while the instance is busy": {
		cfg: batching(100, 0), exec: 100, instances: 1, events: append([]event{{0, 1, 0}}, times(11, event{30, 1, 0})...),
		want: []string{"0: 1", "100: 11"}, sizes: map[int]uint64{1: 1, 11: 1},
	},
	"a backlog is split into preferred sizes": {
		cfg: batching(16, 0, 4, 6), exec: 100, instances: 1, events: append([]event{{0, 6, 0}}, times(7, event{50, 1, 0})...),
		want: []string{"0: 6", "100: 6", "200: 1"},
	},
	"a backlog of twelve, two instances": {
		cfg: batching(4, 0, 4), exec: 100, instances: 2, events: append(times(2, event{0, 4, 0}), times(12, event{50, 1, 0})...),
		want: []string{"0: 4", "0: 4", "100: 4", "100: 4", "200: 4"},
	},
	"the delay passes while the instance is busy": {
		cfg: batching(8, 100*time.Millisecond), exec: 1000, instances: 1, events: []event{{0, 8, 0}, {500, 1, 0}, {950, 1, 0}},
		want: []string{"0: 8", "1000: 2"},
	},
	"the delay ends after the instance is free": {
		cfg: batching(8, 100*time.Millisecond), exec: 1000, instances: 1, events: []event{{0, 8, 0}, {950, 1, 0}, {1020, 1, 0}},
		want: []string{"0: 8", "1050: 2"},
	},
	"the alarm reaches an instance whose caller still runs": {
		cfg: batching(4, 10*time.Millisecond), exec: 1000, instances: 3, events: []event{{0, 4, 0}, {10, 4, 0}, {20, 4, 0}, {1005, 1, 0}},
		want: []string{"0: 4", "10: 4", "20: 4", "1015: 1"},
	},
	"a full batch overtakes the timer": {
		cfg: batching(4, 100*time.Millisecond), instances: 1, events: []event{{0, 3, 0}, {50, 1, 0}, {60, 1, 0}, {200, 1, 0}},
		want: []string{"50: 4", "160: 1", "300: 1"},
	},
}

func dynamicTimeline(want []string, events ...event) timeline {
	return timeline{cfg: withInput(batching(8, 10*time.Second, 2, 6), false), instances: 1, events: events, want: want}
}

func withInput(cfg *inferencepb.ModelConfig, ragged bool) *inferencepb.ModelConfig {
	cfg.Input = variable(ragged)
	return cfg
}

// Every timeline runs with callers that may run batches themselves, and with
// requests that are only submitted.
func TestTimelines(t *testing.T) {
	t.Parallel()
	for name, tl := range timelines {
		t.Run(name+"/callers", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tl.run(t, true) })
		})
		t.Run(name+"/submitted", func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { tl.run(t, false) })
		})
	}
}

func (tl timeline) run(t *testing.T, callers bool) {
	e := &backendtest.Model{Time: backendtest.Takes(time.Duration(tl.exec) * time.Millisecond), Begin: time.Now()}
	g, counters := group(t, tl.cfg, e, tl.instances)
	synctest.Wait() // the instances are idle
	var all sync.WaitGroup
	answers := make(infertest.Errors, len(tl.events))
	rows := 0
	for _, ev := range tl.events {
		time.Sleep(time.Duration(ev.at)*time.Millisecond - time.Since(e.Begin))
		r := request("", ev.rows)
		rows += ev.rows
		if ev.width > 0 {
			shaped(r, ev.width)
		}
		if callers {
			all.Go(func() { require.NoError(t, call(context.Background(), g, r)) })
			synctest.Wait()
			continue
		}
		r.Sink = answers
		require.NoError(t, g.Submit(r))
		r.Release()
	}
	all.Wait()
	if !callers {
		for range tl.events {
			require.NoError(t, <-answers)
		}
	}
	require.Equal(t, tl.want, e.Rows())
	c := counters.Counters()
	require.EqualValues(t, rows, c.Inferences)
	require.EqualValues(t, len(tl.want), c.Executions)
	require.EqualValues(t, len(tl.events), c.Success.Count)
	if tl.sizes != nil {
		got := map[int]uint64{}
		for _, s := range c.Sizes {
			got[s.Rows] = s.Count
		}
		require.Equal(t, tl.sizes, got)
	}
}

func TestQueueTimesOfTheDefaultScheduler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters := group(t, &inferencepb.ModelConfig{}, &backendtest.Model{Time: backendtest.Takes(100 * time.Millisecond), Begin: time.Now()}, 1)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
		}
		all.Wait()
		s := counters.Snapshot()
		require.EqualValues(t, 300e6, s.InferenceStats.Queue.Ns, "0, 100 and 200 ms")
		require.EqualValues(t, 600e6, s.InferenceStats.Success.Ns, "100, 200 and 300 ms")
		require.EqualValues(t, 300e6, s.InferenceStats.ComputeInfer.Ns)
		require.EqualValues(t, 3, s.InferenceStats.ComputeInfer.Count)
		require.Equal(t, uint64(time.Now().UnixMilli()), s.LastInference)
	})
}

// One batch of three requests with 1, 2 and 1 rows.
func TestStatisticsOfABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, counters := group(t, batching(8, time.Second, 4), &backendtest.Model{Time: backendtest.Takes(10 * time.Millisecond), Begin: time.Now()}, 1)
		var all sync.WaitGroup
		for _, rows := range []int{1, 2, 1} {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", rows))) })
			synctest.Wait()
		}
		all.Wait()
		s := counters.Snapshot()
		require.EqualValues(t, 4, s.InferenceCount)
		require.EqualValues(t, 1, s.ExecutionCount)
		require.EqualValues(t, 3, s.InferenceStats.Success.Count)
		require.EqualValues(t, 30e6, s.InferenceStats.ComputeInfer.Ns, "every request has the time of the batch")
		require.Len(t, s.BatchStats, 1)
		require.EqualValues(t, 4, s.BatchStats[0].BatchSize)
		require.EqualValues(t, 1, s.BatchStats[0].ComputeInfer.Count)
		require.EqualValues(t, 10e6, s.BatchStats[0].ComputeInfer.Ns)
	})
}

func TestQueueLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := batching(32, 0, 4, 8)
		cfg.GetDynamicBatching().DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{MaxQueueSize: 8}
		e := &backendtest.Model{Time: backendtest.Takes(5 * time.Second), Begin: time.Now()}
		g, counters := group(t, cfg, e, 1)
		answers := make(infertest.Errors, 16)
		submit := func(r *infer.Request) error {
			r.Sink = answers
			err := g.Submit(r)
			if err != nil {
				r.Release() // the core's reference
			}
			r.Release()
			return err
		}
		require.NoError(t, submit(request("a", 8)))
		time.Sleep(500 * time.Millisecond)
		refused := 0
		for range 10 {
			if err := submit(request("b", 1)); err != nil {
				require.EqualError(t, err, "[request id: b] Exceeds maximum queue size")
				refused++
			}
		}
		require.Equal(t, 2, refused)
		for range 9 {
			require.NoError(t, <-answers)
		}
		require.Equal(t, []string{"0: 8", "5000: 8"}, e.Rows())
		c := counters.Counters()
		require.Zero(t, c.Fail.Count, "what is refused at once changes no counter")
		require.EqualValues(t, 2, c.Sizes[0].Count)
	})
}
