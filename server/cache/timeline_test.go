package cache_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// event is a request of a timeline; times are ms.
type event struct {
	at     int
	text   string
	cancel int    // when its client leaves; 0: never
	want   string // "<ms>: <answer>"
}

var errBad = errors.New("bad")

var timelines = map[string]struct {
	instances int
	single    bool
	ordered   bool
	fails     []error
	events    []event
	ran       []int64
	want      counts
}{
	"20.7: one after the other": {
		instances: 1, events: []event{{at: 0, text: "a", want: "100: a"}, {at: 200, text: "a", want: "200: a"}},
		ran: []int64{0}, want: counts{executions: 1, success: 2, computed: 1, hits: 1, misses: 1},
	},
	"20.7: both at once": {
		instances: 2, events: []event{{text: "a", want: "100: a"}, {text: "a", want: "100: a"}},
		ran: []int64{0, 0}, want: counts{executions: 2, success: 2, computed: 2, misses: 1},
	},
	"others are others": {
		instances: 1, events: []event{{text: "a", want: "100: a"}, {at: 200, text: "b", want: "300: b"}, {at: 400, text: "a", want: "400: a"}},
		ran: []int64{0, 200}, want: counts{executions: 2, success: 3, computed: 2, hits: 1, misses: 2},
	},
	"an error is not kept": {
		instances: 1, fails: []error{errBad}, events: []event{{text: "a", want: "100: error: bad"}, {at: 200, text: "a", want: "300: a"}},
		ran: []int64{0, 200}, want: counts{executions: 1, success: 1, failed: 1, computed: 1, misses: 1},
	},
	"in order: a hit waits for those before it": {
		instances: 2, ordered: true,
		events: []event{{text: "a", want: "100: a"}, {at: 200, text: "b", want: "300: b"}, {at: 210, text: "a", want: "300: a"}, {at: 310, text: "a", want: "310: a"}},
		ran:    []int64{0, 200}, want: counts{executions: 2, success: 4, computed: 2, hits: 2, misses: 2},
	},
	"in order: a cancelled request blocks none": {
		instances: 1, ordered: true,
		events: []event{
			{text: "b", want: "100: b"},
			{at: 10, text: "c", cancel: 20, want: "20: error: "},
			{at: 110, text: "b", want: "110: b"},
			{at: 120, text: "a", want: "220: a"},
		},
		ran: []int64{0, 120}, want: counts{executions: 2, success: 3, failed: 1, computed: 2, hits: 1, misses: 2},
	},
	"in order, single flight": {
		instances: 2, single: true, ordered: true, fails: []error{errBad},
		events: []event{{text: "a", want: "100: error: bad"}, {at: 10, text: "a", want: "200: a"}, {at: 20, text: "b", want: "200: b"}, {at: 30, text: "a", want: "220: a"}},
		ran:    []int64{0, 20, 100, 120}, want: counts{executions: 3, success: 3, failed: 1, computed: 3, misses: 2},
	},
	"single flight": {
		instances: 2, single: true,
		events: []event{{text: "a", want: "100: a"}, {at: 10, text: "a", want: "100: a"}, {at: 99, text: "a", want: "100: a"}, {at: 101, text: "a", want: "101: a"}},
		ran:    []int64{0}, want: counts{executions: 1, success: 4, computed: 1, hits: 3, misses: 1},
	},
	"single flight: the leader fails": {
		instances: 2, single: true, fails: []error{errBad},
		events: []event{{text: "a", want: "100: error: bad"}, {at: 10, text: "a", want: "200: a"}, {at: 20, text: "a", want: "200: a"}},
		ran:    []int64{0, 100, 100}, want: counts{executions: 2, success: 2, failed: 1, computed: 2, misses: 1},
	},
	"single flight: all fail": {
		instances: 2, single: true, fails: []error{errBad, errBad, errBad},
		events: []event{{text: "a", want: "100: error: bad"}, {at: 10, text: "a", want: "200: error: bad"}, {at: 20, text: "a", want: "200: error: bad"}},
		ran:    []int64{0, 100, 100}, want: counts{failed: 3},
	},
	"single flight: the leader leaves its queue": {
		instances: 1, single: true,
		events: []event{
			{text: "b", want: "100: b"},
			{at: 10, text: "a", cancel: 50, want: "50: error: "},
			{at: 20, text: "a", want: "200: a"},
			{at: 30, text: "a", want: "200: a"},
		},
		ran: []int64{0, 100}, want: counts{executions: 2, success: 3, failed: 1, computed: 2, hits: 1, misses: 2},
	},
	"single flight: the leader leaves while it runs": {
		instances: 2, single: true,
		events: []event{{text: "a", cancel: 50, want: "50: error: "}, {at: 20, text: "a", want: "200: a"}},
		ran:    []int64{0, 100}, want: counts{executions: 1, success: 1, failed: 1, computed: 1, misses: 1},
	},
	"single flight: a follower leaves": {
		instances: 2, single: true,
		events: []event{{text: "a", want: "100: a"}, {at: 10, text: "a", cancel: 50, want: "50: error: "}, {at: 20, text: "a", want: "100: a"}},
		ran:    []int64{0}, want: counts{executions: 1, success: 2, failed: 1, computed: 1, hits: 1, misses: 1},
	},
}

func TestTimelines(t *testing.T) {
	t.Parallel()
	for name, line := range timelines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, setup{size: 1 << 20, instances: line.instances, exec: 100 * time.Millisecond, single: line.single, ordered: line.ordered})
				w.fails['a'] = line.fails
				got := make([]string, len(line.events))
				var all sync.WaitGroup
				for i, e := range line.events {
					all.Go(func() {
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if e.cancel > 0 {
							time.AfterFunc(time.Duration(e.cancel)*time.Millisecond, cancel)
						}
						time.Sleep(time.Duration(e.at) * time.Millisecond)
						answer := w.infer(ctx, e.text)
						got[i] = stamp(w.begin) + answer
					})
				}
				all.Wait()
				synctest.Wait()
				for i, e := range line.events {
					require.Equal(t, e.want, got[i], "request %d", i)
				}
				require.Equal(t, line.ran, w.ran())
				require.Equal(t, line.want, w.counts())
			})
		})
	}
}

func stamp(begin time.Time) string {
	return strconv.FormatInt(time.Since(begin).Milliseconds(), 10) + ": "
}

// TestDurations compares the durations that a hit and a miss add to each counter.
func TestDurations(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, setup{size: 1 << 20, instances: 1, exec: 100 * time.Millisecond})
		require.Equal(t, "a", w.infer(t.Context(), "a"))
		require.Equal(t, "a", w.infer(t.Context(), "a"))
		c := w.stats.Counters()
		require.EqualValues(t, 100e6, c.Success.Ns) // a lookup takes no virtual time
		require.EqualValues(t, 2, c.Queue.Count)
		require.EqualValues(t, 1, c.Inferences)
		require.Len(t, c.Sizes, 1)
	})
}
