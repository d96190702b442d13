package ensemble

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func batching(m *fake, most int32, dims ...int64) *fake {
	m.cfg.MaxBatchSize = most
	return shaped(m, dims...)
}

func shaped(m *fake, dims ...int64) *fake {
	m.cfg.Input[0].Dims, m.cfg.Output[0].Dims = dims, dims
	return m
}

func optional(m *fake) *fake {
	for _, in := range m.cfg.Input {
		in.Optional = true
	}
	return m
}

func saying(m *fake, params string) *fake {
	m.params = params
	return m
}

const (
	io4      = `input { name: "IN" data_type: TYPE_INT32 dims: [ 4 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ 4 ] } `
	io4batch = "max_batch_size: 4 " + io4
	maybe    = `input [ { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] optional: true }, { name: "IN2" data_type: TYPE_INT32 dims: [ -1 ] optional: true } ]
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "A" model_version: -1
  input_map [ { key: "IN" value: "IN" }, { key: "IN2" value: "IN2" } ] output_map { key: "OUT" value: "OUT" } } }`
	absent = io + `ensemble_scheduling {
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map [ { key: "OUT" value: "t" }, { key: "ABSENT" value: "u" } ] }
  step { model_name: "B" model_version: -1 input_map [ { key: "IN" value: "t" }, { key: "IN2" value: "u" } ] output_map { key: "OUT" value: "OUT" } }
}`
	noAnswer = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output [ { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "u" data_type: TYPE_INT32 dims: [ -1 ] } ]
ensemble_scheduling {
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map [ { key: "OUT" value: "OUT" }, { key: "ABSENT" value: "u" } ] }
}`
)

var steps = ab[len(io):]

// alsoAbsent is a model with a second output that it never makes.
func alsoAbsent(m *fake) *fake {
	m.cfg.Output = append(m.cfg.Output, &inferencepb.ModelOutput{Name: "ABSENT", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}})
	return m
}

const tail = " seq=0 start=false end=false prio=0 timeout=0 params=0"

// The rules of shapes between models were recorded from NVIDIA's server: see
// docs/compatibility-details.md.
func TestBehavior(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config string
		models []*fake
		batch  int
		in     []string
		ask    func(*infer.Request)
		got    string
		saw    map[string]string
	}{
		"batching into not batching": {
			config: io4batch + steps, models: []*fake{batching(one("A", 0), 4, 4), shaped(one("B", 0), 4)}, batch: 1, in: []string{"IN=1,2,3,4"},
			got: "OUT[1,4]=1,2,3,4", saw: map[string]string{"A": "x IN[1,4],OUT" + tail, "B": "x IN[4],OUT" + tail},
		},
		"batching into not batching, which takes it as it is": {
			config: io4batch + steps, models: []*fake{batching(one("A", 0), 4, 4), shaped(one("B", 0), 1, 4)}, batch: 1, in: []string{"IN=1,2,3,4"},
			got: "OUT[1,4]=1,2,3,4", saw: map[string]string{"B": "x IN[1,4],OUT" + tail},
		},
		"not batching into batching": {
			config: io4 + steps, models: []*fake{shaped(one("A", 0), 4), batching(one("B", 0), 4, 4)}, in: []string{"IN=1,2,3,4"},
			got: "OUT[4]=1,2,3,4", saw: map[string]string{"A": "x IN[4],OUT" + tail, "B": "x IN[1,4],OUT" + tail},
		},
		"a batch of four into one tensor": {
			config: io4batch + steps, models: []*fake{batching(one("A", 0), 4, 4), shaped(one("B", 0), -1, 4)}, batch: 2, in: []string{"IN=1,2,3,4,5,6,7,8"},
			got: "OUT[2,4]=1,2,3,4,5,6,7,8", saw: map[string]string{"B": "x IN[2,4],OUT" + tail},
		},
		"an input that is not given": {
			config: maybe, models: []*fake{optional(two("A", 0))}, in: []string{"IN2=5"},
			got: "OUT[1]=5", saw: map[string]string{"A": "x IN2[1],OUT" + tail},
		},
		"an output that is not made": {
			config: absent, models: []*fake{alsoAbsent(one("A", 0)), optional(two("B", 0))}, in: []string{"IN=5"},
			got: "OUT[1]=5", saw: map[string]string{"A": "x IN[1],OUT,ABSENT" + tail, "B": "x IN[1],OUT" + tail},
		},
		"an output of the ensemble that is not made": {
			config: noAnswer, models: []*fake{alsoAbsent(one("A", 0))}, in: []string{"IN=5"}, got: "OUT[1]=5",
		},
		"every step gets the parameters of the request": {
			config: ab, models: []*fake{one("A", 0), one("B", 0)}, in: []string{"IN=1"},
			ask: func(r *infer.Request) {
				r.SequenceID, r.SequenceStart, r.SequenceEnd, r.Priority, r.TimeoutMicros = 5, true, true, 3, 77
				r.Parameters = append(r.Parameters, kserve.Parameter{Name: "foo", Kind: kserve.ParamString, String: "bar"})
			},
			got: "OUT[1]=1",
			saw: map[string]string{"A": "x IN[1],OUT seq=5 start=true end=true prio=3 timeout=77 params=1", "B": "x IN[1],OUT seq=5 start=true end=true prio=3 timeout=77 params=1"},
		},
		"a response changes the sequence": {
			config: ab, models: []*fake{saying(one("A", 0), "sequence_id:i77 sequence_start:btrue other:i1"), one("B", 0)}, in: []string{"IN=1"},
			got: "OUT[1]=1", saw: map[string]string{"A": "x IN[1],OUT" + tail, "B": "x IN[1],OUT seq=77 start=true end=false prio=0 timeout=0 params=0"},
		},
		"to one with a name": {
			config: ab, models: []*fake{saying(one("A", 0), "sequence_id:sabc sequence_end:btrue"), one("B", 0)}, in: []string{"IN=1"},
			got: "OUT[1]=1", saw: map[string]string{"B": "x IN[1],OUT seq=0abc start=false end=true prio=0 timeout=0 params=0"},
		},
		"a wrong id": {
			config: ab, models: []*fake{saying(one("A", 0), "sequence_id:btrue"), one("B", 0)}, in: []string{"IN=1"},
			got: "Invalid argument: in ensemble 'e', expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING",
		},
		"a wrong flag": {
			config: ab, models: []*fake{saying(one("A", 0), "sequence_start:i1"), one("B", 0)}, in: []string{"IN=1"},
			got: "Invalid argument: in ensemble 'e', expect parameter 'sequence_start' to be TRITONSERVER_PARAMETER_BOOL",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := build(t, test.config, test.models...)
			q := r.request(test.batch, test.in...)
			q.ID = "x"
			if test.ask != nil {
				test.ask(q)
			}
			resp, err := r.Infer(context.Background(), q)
			if err != nil {
				resp = failed(err)
			}
			require.Equal(t, test.got, shown(resp))
			for name, saw := range test.saw {
				require.Equal(t, []string{saw}, r.models[name].saw, name)
			}
			resp.Release()
			q.Release()
			r.close(t)
		})
	}
}

// Values move from step to step without a copy.
func TestTensorsMove(t *testing.T) {
	t.Parallel()
	r := build(t, fan, one("A", 0), one("B", 0), two("C", 0))
	q := r.request(0, "IN=1,2")
	in := q.Inputs[0].Data.Segment(0).Buffer
	resp, err := r.Infer(context.Background(), q)
	require.NoError(t, err)
	for i := range resp.Outputs {
		require.Same(t, in, resp.Outputs[i].Data.Segment(0).Buffer)
	}
	require.EqualValues(t, 1, r.pool.Outstanding())
	resp.Release()
	q.Release()
	r.close(t)
}

// An answer for which the client's memory is too small is a failure of the
// ensemble, as with NVIDIA's server.
func TestNoRoomForTheAnswer(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(r *harness, q *infer.Request) string{
		"infer": func(r *harness, q *infer.Request) string {
			_, err := r.Infer(context.Background(), q)
			return shown(failed(err))
		},
		"submit": func(r *harness, q *infer.Request) string {
			to := newSink()
			q.Sink = to
			require.NoError(t, r.Submit(q))
			<-to.Done()
			_, text, _ := strings.Cut(strings.Join(to.Timeline(), "|"), ": ")
			return strings.TrimSuffix(text, " final")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := build(t, ab, one("A", 0), one("B", 0))
			q := r.request(0, "IN=1,2")
			q.Outputs = append(q.Outputs, kserve.RequestedOutput{Name: "OUT", Into: tensor.Segment{Buffer: tensor.HeapBuffer(make([]byte, 4)), N: 4}})
			require.Equal(t, "Internal: in ensemble 'e', shared memory size specified with the request for output 'OUT' (4 bytes) should be at least 8 bytes to hold the results", run(r, q))
			q.Release()
			c := r.stats.Counters()
			require.EqualValues(t, 1, c.Fail.Count)
			require.Zero(t, c.Success.Count)
			require.Zero(t, c.Executions)
			r.close(t)
		})
	}
}

func TestUnloadedModels(t *testing.T) {
	t.Parallel()
	r := build(t, ab, one("A", 0), one("B", 0))
	r.lost = errors.New("no such model")
	require.False(t, r.Ready())
	q := r.request(0, "IN=1")
	_, err := r.Infer(context.Background(), q)
	require.EqualError(t, err, "in ensemble 'e', no such model")
	q.Release()
	r.lost = nil
	require.True(t, r.Ready())
	require.NoError(t, r.models["A"].group.Drain(context.Background()))
	q = r.request(0, "IN=1")
	to := newSink()
	q.Sink = to
	require.NoError(t, r.Submit(q))
	<-to.Done()
	require.Contains(t, to.Timeline()[0], "in ensemble 'e', [request id: <id_unknown>] Server is stopping")
	q.Release()
	require.NoError(t, r.Drain(context.Background()))
	q = r.request(0, "IN=1")
	_, err = r.Infer(context.Background(), q)
	require.ErrorContains(t, err, "Server is stopping")
	q.Release()
	r.close(t)
}

// A drain waits for the requests in flight.
func TestDrainWaits(t *testing.T) {
	t.Parallel()
	r := build(t, ab, one("A", 20), one("B", 0))
	q := r.request(0, "IN=1")
	to := newSink()
	q.Sink = to
	require.NoError(t, r.Submit(q))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorContains(t, r.Drain(ctx), "requests are still in flight")
	require.NoError(t, r.Drain(context.Background()))
	<-to.Done()
	require.Contains(t, to.Timeline()[0], "OUT[1]=1 final")
	q.Release()
	r.close(t)
}

func BenchmarkInfer(b *testing.B) {
	for name, config := range map[string]string{"one model": "", "two steps": ab} {
		b.Run(name, func(b *testing.B) {
			r := build(b, ab, one("A", 0), one("B", 0))
			r.models["A"].quiet, r.models["B"].quiet = true, true
			in := tensor.HeapBuffer(make([]byte, 64))
			var run infer.Runner = r.Ensemble
			if config == "" {
				run = r.models["A"].group
			}
			b.ReportAllocs()
			for b.Loop() {
				q := infer.NewRequest()
				t := q.AddInput()
				t.Name, t.DataType, t.Shape, t.Data = "IN", tensor.Int32, append(t.Shape, 16), tensor.SliceData(in, 0, 64)
				resp, err := run.Infer(context.Background(), q)
				if err != nil {
					b.Fatal(err)
				}
				resp.Release()
				q.Release()
			}
			r.close(b)
		})
	}
}
