package ensemble

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/stats"
)

const (
	io = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] } `
	// ab is A and then B.
	ab = io + `ensemble_scheduling {
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "t" } }
  step { model_name: "B" model_version: -1 input_map { key: "IN" value: "t" } output_map { key: "OUT" value: "OUT" } }
}`
	// fan is A and B at the same time; C joins them.
	fan = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output [ { name: "a" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] } ]
ensemble_scheduling {
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "a" } }
  step { model_name: "B" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "b" } }
  step { model_name: "C" model_version: -1 input_map [ { key: "IN" value: "a" }, { key: "IN2" value: "b" } ] output_map { key: "OUT" value: "OUT" } }
}`
)

func failing(m *fake, text string) *fake {
	m.err = status.New(status.Internal, "%s", text)
	return m
}

func polling(m *fake) *fake {
	m.polls = true
	return m
}

func dynamically(m *fake) *fake {
	m.cfg.MaxBatchSize = 8
	m.dynamic = true
	return m
}

// timelines are those of the specification, one request at 0 ms.
var timelines = map[string]struct {
	config string
	models func() []*fake
	in     string
	batch  int
	want   []string // requested outputs
	cancel int      // ms; 0: never
	got    string   // responses
	ran    map[string][]int
	sum    int // ms of compute_infer; -1: it failed
}{
	"linear": {
		config: ab, models: func() []*fake { return []*fake{one("A", 100), one("B", 50)} }, in: "IN=1,2",
		got: "150: OUT[2]=1,2 final", ran: map[string][]int{"A": {0}, "B": {100}}, sum: 150,
	},
	"fan-out": {
		config: fan, models: func() []*fake { return []*fake{one("A", 100), one("B", 100), two("C", 50)} }, in: "IN=1",
		got: "150: OUT[1]=1 a[1]=1 final", ran: map[string][]int{"A": {0}, "B": {0}, "C": {100}}, sum: 250,
	},
	"only the output of A": {
		config: fan, models: func() []*fake { return []*fake{one("A", 100), one("B", 100), two("C", 50)} }, in: "IN=1", want: []string{"a"},
		got: "100: a[1]=1 final", ran: map[string][]int{"A": {0}}, sum: 100,
	},
	"A fails while B runs": {
		config: fan, models: func() []*fake { return []*fake{failing(one("A", 50), "boom"), one("B", 100), two("C", 50)} }, in: "IN=1",
		got: "100: Internal: in ensemble 'e', boom final", ran: map[string][]int{"A": {0}, "B": {0}}, sum: -1,
	},
	"one response each": {
		config: ab, models: func() []*fake { return []*fake{repeat("A", 10), one("B", 1)} }, in: "IN=1,2,3",
		got: "11: OUT[1]=1|21: OUT[1]=2|31: OUT[1]=3 final", ran: map[string][]int{"A": {0}, "B": {10, 20, 30}}, sum: 33,
	},
	"no response": {
		config: ab, models: func() []*fake { return []*fake{repeat("A", 10), one("B", 0)} }, in: "IN=",
		got: "0: final", ran: map[string][]int{"A": {0}}, sum: 0,
	},
	"two decoupled models": {
		config: ab, models: func() []*fake { return []*fake{repeat("A", 10), repeat("B", 0)} }, in: "IN=1,2",
		got: "10: OUT[1]=1|20: OUT[1]=2|20: final", ran: map[string][]int{"A": {0}, "B": {10, 20}}, sum: 20,
	},
	"a limit of one": {
		config: strings.Replace(ab, "ensemble_scheduling {", "ensemble_scheduling { max_inflight_requests: 1", 1), models: func() []*fake { return []*fake{repeat("A", 10), one("B", 100)} }, in: "IN=1,2,3,4",
		got: "110: OUT[1]=1|210: OUT[1]=2|310: OUT[1]=3|410: OUT[1]=4 final",
		ran: map[string][]int{"A": {0}, "B": {10, 110, 210, 310}}, sum: 440,
	},
	"a limit of one, and the first fails": {
		config: strings.Replace(ab, "ensemble_scheduling {", "ensemble_scheduling { max_inflight_requests: 1", 1), models: func() []*fake { return []*fake{repeat("A", 10), failing(one("B", 100), "boom")} }, in: "IN=1,2,3",
		got: "110: Internal: in ensemble 'e', boom final", ran: map[string][]int{"A": {0}, "B": {10}}, sum: -1,
	},
	"cancelled, then a batcher": {
		config: "max_batch_size: 8 " + ab, models: func() []*fake { return []*fake{dynamically(one("A", 100)), dynamically(one("B", 50))} }, in: "IN=1", batch: 1, cancel: 50,
		got: "100: Cancelled: in ensemble 'e',  final", ran: map[string][]int{"A": {0}}, sum: -1,
	},
	"cancelled while a step waits": {
		config: ab, models: func() []*fake { return []*fake{busy(one("A", 100)), one("B", 50)} }, in: "IN=1", cancel: 50,
		got: "50: Cancelled: in ensemble 'e',  final", ran: map[string][]int{"A": {0}}, sum: -1,
	},
	"cancelled, and the model checks": {
		config: ab, models: func() []*fake { return []*fake{polling(one("A", 100)), one("B", 50)} }, in: "IN=1", cancel: 50,
		got: "100: Cancelled: in ensemble 'e', seen final", ran: map[string][]int{"A": {0}}, sum: -1,
	},
}

// busy is a model that runs something else first.
func busy(m *fake) *fake {
	m.occupied = true
	return m
}

func TestTimelines(t *testing.T) {
	t.Parallel()
	for name, test := range timelines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := build(t, test.config, test.models()...)
				q := r.request(test.batch, test.in)
				q.ID = "x"
				for _, o := range test.want {
					q.Outputs = append(q.Outputs, requested(o))
				}
				to := newSink()
				q.Sink = to
				require.NoError(t, r.Submit(q))
				if test.cancel > 0 {
					time.Sleep(time.Duration(test.cancel) * time.Millisecond)
					q.Cancel()
				}
				<-to.Done()
				synctest.Wait()
				q.Release()
				require.Equal(t, test.got, strings.Join(to.Timeline(), "|"))
				for _, m := range r.models {
					require.Equal(t, test.ran[m.name], m.begun(), m.name)
				}
				c := r.stats.Counters()
				if test.sum < 0 {
					require.EqualValues(t, 1, c.Failures[stats.Other])
					require.EqualValues(t, 1, c.Fail.Count)
				} else {
					require.EqualValues(t, 1, c.Success.Count)
					require.Equal(t, []stats.Size{{Rows: 1, Count: 1, Infer: uint64(test.sum) * 1e6}}, c.Sizes)
					require.EqualValues(t, test.sum*1e6, c.ComputeInfer.Ns)
				}
				r.close(t)
			})
		})
	}
}

// The caller's goroutine runs steps while no other step runs.
func TestInferTimelines(t *testing.T) {
	t.Parallel()
	for name, test := range timelines {
		if strings.Contains(test.got, "|") || test.cancel > 0 || strings.HasPrefix(test.got, "0: final") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := build(t, test.config, test.models()...)
				q := r.request(test.batch, test.in)
				for _, o := range test.want {
					q.Outputs = append(q.Outputs, requested(o))
				}
				begin := newSink()
				resp, err := r.Infer(context.Background(), q)
				if err != nil {
					resp = failed(err)
				}
				begin.Send(resp, true)
				q.Release()
				require.Equal(t, test.got, strings.Join(begin.Timeline(), "|"))
				for _, m := range r.models {
					require.Equal(t, test.ran[m.name], m.begun(), m.name)
				}
				r.close(t)
			})
		})
	}
}
