package ensemble

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

var (
	faultOfFlow  = "Internal: in ensemble 'e', " + errInternal.Msg + " final"
	faultOfReply = "Internal: internal error while the response was written; the server's log has the details final"
)

// TestAFaultInAStream fails a request at the first faulty response of a stream.
func TestAFaultInAStream(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		b  func() *fake
		in string
	}{
		"that ends then":        {func() *fake { return repeat("B", 0) }, "IN=1"},
		"of several":            {func() *fake { return repeat("B", 0) }, "IN=1,2"},
		"that ends with data":   {func() *fake { return one("B", 0) }, "IN=1,2,3"},
		"while steps still run": {func() *fake { return one("B", 100) }, "IN=1,2,3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := build(t, ab, repeat("A", 10), test.b())
				var log strings.Builder
				g.opts.Log = slog.New(slog.NewTextHandler(&log, nil))
				sink := newSink()
				r := g.request(0, test.in)
				r.Sink, r.Observer = sink, breaking
				require.NoError(t, g.Submit(r))
				r.Release()
				<-sink.Done()
				g.close(t)
				require.Len(t, sink.Timeline(), 1)
				require.Contains(t, sink.Timeline()[0], faultOfReply)
				c := g.stats.Counters()
				require.Zero(t, c.Success.Count)
				require.EqualValues(t, 1, c.Fail.Count)
				require.Empty(t, log.String(), "the flow itself is sound")
			})
		})
	}
}

// childless is a trace that cannot be followed into a step.
type childless struct{ infertest.TraceFunc }

func (childless) Child() infer.Trace { panic("a fault of the trace") }

func TestATraceWithoutChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := build(t, ab, one("A", 10), one("B", 10))
		sink := newSink()
		r := g.request(0, "IN=1")
		r.Sink, r.Trace = sink, childless{func(infer.Event) {}}
		require.NoError(t, g.Submit(r))
		r.Release()
		<-sink.Done()
		g.close(t)
		require.Equal(t, []string{"20: OUT[1]=1 final"}, sink.Timeline())
	})
}

// stuck is a model whose first request waits in a queue that panics when the request
// is cancelled.
type stuck struct {
	*fake
	first *infer.Request
}

func (s *stuck) Submit(r *infer.Request) error {
	if s.first != nil {
		return s.fake.Submit(r)
	}
	s.first = r
	r.Enter(s)
	return nil
}

func (*stuck) Withdraw(*infer.Request) bool { panic("a fault of the queue") }

// TestStepsOutliveTheirRequest: a request has its answer although its steps can not
// be cancelled. Their later responses reach no other request.
func TestStepsOutliveTheirRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := build(t, fan, one("A", 10), one("B", 10), two("C", 10))
		parts := map[string]infer.Callee{"A": &stuck{fake: g.models["A"]}, "B": &stuck{fake: g.models["B"]}, "C": g.models["C"]}
		g.opts.Submitter = finder(func(name string) infer.Callee { return parts[name] })
		submit := func(in string) (*infer.Request, *infertest.Sink) {
			r, sink := g.request(0, in), newSink()
			r.Sink = sink
			require.NoError(t, g.Submit(r))
			return r, sink
		}
		r, sink := submit("IN=1")
		r.Cancel()
		<-sink.Done()
		next, other := submit("IN=2")
		for _, name := range []string{"A", "B"} {
			late := parts[name].(*stuck).first
			late.Respond(g.models[name].answer(late, -1), true)
			late.Release()
		}
		r.Release()
		<-other.Done()
		next.Release()
		require.Equal(t, []string{"20: OUT[1]=2 a[1]=2 final"}, other.Timeline())
		require.Equal(t, []string{"0: " + faultOfFlow}, sink.Timeline())
		g.close(t)
		c := g.stats.Counters()
		require.EqualValues(t, 1, c.Success.Count)
		require.EqualValues(t, 1, c.Fail.Count)
	})
}

// picky is a log that panics on the message of a step that gets two sequences.
type picky struct{ slog.Handler }

func (h picky) Handle(ctx context.Context, rec slog.Record) error {
	if strings.Contains(rec.Message, "different sequences") {
		panic("a fault of the log")
	}
	return h.Handler.Handle(ctx, rec)
}

// deaf is a model that answers after a while, cancelled or not.
type deaf struct{ *fake }

func (d deaf) Submit(r *infer.Request) error {
	time.AfterFunc(d.exec, func() {
		r.Respond(d.answer(r, -1), true)
		r.Release()
	})
	return nil
}

// parallel is A and B, and then C and D; D reads the outputs of both.
const parallel = `input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output [ { name: "c" data_type: TYPE_INT32 dims: [ -1 ] }, { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] } ]
ensemble_scheduling {
  step { model_name: "A" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "a" } }
  step { model_name: "B" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "b" } }
  step { model_name: "C" model_version: -1 input_map { key: "IN" value: "b" } output_map { key: "OUT" value: "c" } }
  step { model_name: "D" model_version: -1 input_map [ { key: "IN" value: "a" }, { key: "IN2" value: "b" } ] output_map { key: "OUT" value: "OUT" } }
}`

// TestAStepThatCannotBeMade: a panic while a step's request is made fails the
// ensemble's, when the steps that could be made have ended.
func TestAStepThatCannotBeMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := one("A", 5), one("B", 10)
		a.params, b.params = "sequence_id:i1", "sequence_id:i2"
		g := build(t, parallel, a, b, one("C", 10), two("D", 10))
		g.opts.Submitter = finder(func(name string) infer.Callee {
			if name == "C" {
				return deaf{g.models[name]}
			}
			return g.models[name]
		})
		g.opts.Log = slog.New(picky{slog.NewTextHandler(&strings.Builder{}, nil)})
		sink := newSink()
		r := g.request(0, "IN=1")
		r.Sink = sink
		require.NoError(t, g.Submit(r))
		r.Release()
		<-sink.Done()
		require.Equal(t, []string{"20: " + faultOfFlow}, sink.Timeline())
		synctest.Wait() // no group counts the request of a model that is deaf: it is released after its response
		g.close(t)
	})
}

// careless is a model that releases memory twice: its own first output's, or the
// request's.
type careless struct {
	*fake
	inputs bool
}

func (c careless) Submit(r *infer.Request) error {
	resp := infer.NewResponse()
	if c.inputs {
		r.Inputs[0].Data.Segment(0).Buffer.Release()
	} else {
		released := tensor.HeapBuffer(make([]byte, 4))
		released.Release()
		resp.Add("ABSENT", tensor.Int32, tensor.Shape{1}, tensor.NewData(released))
		resp.Add("OUT", tensor.Int32, tensor.Shape{1}, r.Inputs[0].Data.Clone())
	}
	r.Respond(resp, true)
	r.Release()
	return nil
}

// TestAModelThatReleasesTooMuch fails its request, but loses no memory and no place in a
// limit.
func TestAModelThatReleasesTooMuch(t *testing.T) {
	t.Parallel()
	limited := strings.Replace(noAnswer, "ensemble_scheduling {", "ensemble_scheduling { max_inflight_requests: 1", 1)
	for name, inputs := range map[string]bool{"its inputs": true, "an output without readers": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := alsoAbsent(one("A", 10))
				m.cfg.Output[0], m.cfg.Output[1] = m.cfg.Output[1], m.cfg.Output[0]
				g := build(t, limited, m)
				g.opts.Submitter = finder(func(string) infer.Callee { return careless{m, inputs} })
				for range 2 {
					sink := newSink()
					r := g.request(0, "IN=1")
					if inputs { // a pool would lend such a buffer twice
						r.Inputs[0].Data.Release()
						r.Inputs[0].Data = tensor.NewData(tensor.HeapBuffer([]byte{1, 0, 0, 0}))
					}
					r.Outputs = append(r.Outputs, requested("OUT"))
					r.Sink = sink
					require.NoError(t, g.Submit(r))
					r.Release()
					<-sink.Done()
					require.Equal(t, []string{"0: " + faultOfFlow}, sink.Timeline())
				}
				g.close(t)
			})
		})
	}
}
