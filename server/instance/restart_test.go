package instance_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/stats"
)

func outputInto(name string, pool *tensor.Pool) kserve.RequestedOutput {
	return kserve.RequestedOutput{Name: name, Into: tensor.Segment{Buffer: pool.Get(64), N: 64}}
}

func TestAnInstanceBreaksWhileTheGroupDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &backendtest.Model{Own: true, Breaks: true}
		m.Run = func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Keep()
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 1)
		r, sink := request("kept", 1), infertest.NewSink()
		r.Sink = sink
		require.NoError(t, g.Submit(r))
		r.Release()
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		begin := time.Now()
		drained := make(chan error, 1)
		go func() { drained <- g.Drain(ctx) }()
		synctest.Wait()
		m.Break(errors.New("the child ended with status 1"))
		err := <-drained
		require.NoError(t, err)
		require.Less(t, time.Since(begin), time.Minute)
		require.Equal(t, 1, sink.Ends())
	})
}

func TestInputsOfALateRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := tensor.NewPool()
		e := later(30*time.Millisecond, 10*time.Millisecond, nil) // lets go, then answers
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1)
		r := request("a", 1)
		r.AddInput().Data = tensor.NewData(pool.Get(64))
		resp, err := g.Infer(t.Context(), r)
		require.NoError(t, err)
		synctest.Wait()
		require.Zero(t, pool.Outstanding()) // while the reply is encoded
		resp.Release()
		r.Release()
	})
}

type nothing struct{ *backendtest.Model }

func (nothing) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	return nil, nil
}

func TestAModelThatMakesNothing(t *testing.T) {
	t.Parallel()
	cfg, counters := &inferencepb.ModelConfig{}, stats.NewModel("m", "1", 1)
	o := instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: nothing{&backendtest.Model{}}, Stats: counters,
		Placements: make([]backend.Placement, 1), Log: slog.New(slog.DiscardHandler),
	}
	o.Source, o.Slots = queue(cfg, 1, counters, nil)
	require.ErrorContains(t, instance.New(o).Start(t.Context()), "the backend of model 'm' made no instance")
}

func TestADrainDoesNotWaitForADeadBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &backendtest.Model{Own: true, Breaks: true}
		m.Run = func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Keep()
			b.Requests[0].Respond(infer.NewResponse(), true)
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 1)
		require.NoError(t, call(t.Context(), g, request("a", 1)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		drained := make(chan error, 1)
		go func() { drained <- g.Drain(ctx) }()
		synctest.Wait()
		m.Break(errors.New("the child ended with status 1"))
		require.NoError(t, <-drained)
	})
}

func TestALateAnswerIsInTheDistributions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := stats.New(&inferencepb.ModelConfig{Name: "m"}, "1", stats.Options{Settings: map[string]string{"summary_latencies": "true"}})
		e := later(10*time.Millisecond, 10*time.Millisecond, nil)
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1, func(o *instance.Options) { o.Stats = m })
		require.NoError(t, call(t.Context(), g, request("a", 1)))
		time.Sleep(time.Second)
		reg := prometheus.NewRegistry()
		reg.MustRegister(stats.NewCollector(func() []stats.Served { return []stats.Served{{Model: m}} }))
		all, err := reg.Gather()
		require.NoError(t, err)
		n := uint64(0)
		for _, f := range all {
			if f.GetMetric()[0].GetSummary() != nil {
				t.Log(f.GetName(), f.GetMetric()[0].GetSummary().GetSampleCount())
				n += f.GetMetric()[0].GetSummary().GetSampleCount()
			}
		}
		require.NotZero(t, n)
	})
}

func TestAnInstanceWhoseWarmUpFailsAgainIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		warm := 0
		e := &backendtest.Model{BatchFault: backendtest.Panic.Always}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1, func(o *instance.Options) {
			o.WarmUp = func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
				if warm++; warm == 2 || warm == 3 {
					return errors.New("warm-up failed")
				}
				return nil
			}
		})
		require.Error(t, call(t.Context(), g, request("a", 1)))
		time.Sleep(time.Minute)
		require.True(t, g.Ready())
		require.EqualValues(t, 4, e.Made())
		require.NoError(t, g.Drain(t.Context()))
		require.EqualValues(t, e.Made(), e.Closed()-1, "instances made, and closed")
	})
}

func TestWarmUpRequestsKeptByAFailedInstance(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		e := &backendtest.Model{Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			if b.Requests[0].ID == "warm" {
				b.Requests[0].Keep() // never answered: its process has died
				return nil
			}
			return backend.ErrBroken
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1, func(o *instance.Options) {
			o.WarmUp = func(_ context.Context, _ int, _ backend.Placement, run func([]*infer.Request)) error {
				if n++; n != 2 {
					return nil
				}
				r := request("warm", 1)
				r.Sink = infertest.NewSink()
				run([]*infer.Request{r})
				r.Release()
				return errors.New("warm-up failed")
			}
		})
		require.Error(t, call(t.Context(), g, request("a", 1)))
		time.Sleep(time.Minute)
		require.True(t, g.Ready())
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, g.Drain(ctx))
	})
}

type reporting struct{ *backendtest.Model }

func (m reporting) NewInstance(ctx context.Context, at backend.Placement) (backend.Instance, error) {
	i, err := m.Model.NewInstance(ctx, at)
	return &reportingInstance{Instance: i}, err
}

type reportingInstance struct {
	backend.Instance
	closed atomic.Bool
}

func (i *reportingInstance) Close() error {
	i.closed.Store(true)
	time.Sleep(time.Second)
	return i.Instance.Close()
}

func (i *reportingInstance) Memory() []backend.Memory {
	if i.closed.Load() {
		panic("memory of a closed instance")
	}
	return nil
}

func TestMemoryWhileAnInstanceIsReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{BatchFault: backendtest.Panic.Always}
		g, _ := group(t, &inferencepb.ModelConfig{}, reporting{e}, 1)
		require.Error(t, call(t.Context(), g, request("a", 1)))
		synctest.Wait()
		require.NotPanics(t, func() { g.Memory() }) // the old one is being closed
		time.Sleep(3 * time.Second)
	})
}

func TestAModelThatCallsItselfIsAborted(t *testing.T) {
	t.Parallel()
	var g *instance.Group
	e := &backendtest.Model{Begin: time.Now(), Own: true}
	e.Run = func(_ context.Context, b *infer.Batch) error {
		outer := b.Requests[0]
		if outer.ID != "outer" {
			return nil // answers later, or never
		}
		inner := request("inner", 1)
		inner.Sink = infertest.SinkFunc(func(resp *infer.Response, final bool) {
			outer.Respond(resp, final)
		})
		defer inner.Release()
		return g.Submit(inner)
	}
	o := &inferencepb.ModelConfig{ModelTransactionPolicy: decoupledPolicy}
	g, _ = group(t, o, e, 1)
	r, sink := request("outer", 1), infertest.NewSink()
	r.Sink = sink
	require.NoError(t, g.Submit(r))
	r.Release()
	for len(e.Members()) < 2 {
		time.Sleep(time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	done := make(chan error)
	go func() { done <- g.Drain(ctx) }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		panic("Drain hangs")
	}
}

func TestATraceOfAReclaimedRequestEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := &backendtest.Model{Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Keep()
			return errors.New("failed")
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1)
		r, ended := request("a", 1), 0
		r.Trace = infertest.TraceFunc(func(e infer.Event) {
			if e.Kind == infer.EventEnded {
				ended++
			}
		})
		require.Error(t, call(t.Context(), g, r))
		synctest.Wait()
		require.Equal(t, 1, ended)
	})
}

func TestRegionsOfAReclaimedRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pool := tensor.NewPool()
		e := &backendtest.Model{Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Keep()
			b.Requests[0].Respond(nil, true)
			return nil // lets go of nothing
		}
		e.Breaks = true
		g, _ := group(t, &inferencepb.ModelConfig{ModelTransactionPolicy: decoupledPolicy}, e, 1)
		r, sink := request("a", 1), infertest.NewSink()
		r.Sink = sink
		r.Outputs = append(r.Outputs, outputInto("OUT", pool))
		require.NoError(t, g.Submit(r))
		r.Release()
		synctest.Wait()
		require.Equal(t, 1, sink.Ends())
		e.Break(errors.New("the child has ended"))
		time.Sleep(time.Minute)
		require.True(t, g.Ready())
		require.Zero(t, pool.Outstanding())
	})
}
