package instance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

// chaos is a model that breaks at random at every possible point.
func chaos(pool *tensor.Pool, decoupled bool) *backendtest.Model {
	response := func() *infer.Response {
		resp := infer.NewResponse()
		buf, err := pool.TryGet(16)
		if err != nil {
			resp.Err = err
			return resp
		}
		resp.Add("OUT", tensor.Uint8, tensor.Shape{16}, tensor.NewData(buf))
		return resp
	}
	return &backendtest.Model{
		Breaks: true,
		Make: func(made int, _ backend.Placement) error {
			switch {
			case made < 2 || rand.IntN(4) > 0:
				return nil
			case rand.IntN(2) == 0:
				panic("while an instance is made")
			}
			return errors.New("no instance this time")
		},
		InstanceClosing: func() {
			if rand.IntN(8) == 0 {
				panic("while it is closed")
			}
		},
		BatchFault: func(*infer.Batch) backendtest.BatchFault {
			return backendtest.OneIn(10, backendtest.Panic, backendtest.PanicLast, backendtest.Fail, backendtest.FailLast, backendtest.Broken, backendtest.Breaks)
		},
		Run: func(ctx context.Context, _ *infer.Batch) error {
			if rand.IntN(60) == 0 { // stuck, until a timeout
				select {
				case <-ctx.Done():
				case <-time.After(time.Duration(rand.IntN(3)) * time.Millisecond):
				}
			}
			return nil
		},
		RequestFault: func(*infer.Request) backendtest.RequestFault {
			if rand.IntN(8) > 5 {
				return 0
			}
			return backendtest.OneIn(1, backendtest.Never, backendtest.Twice, backendtest.Refused, backendtest.Late, backendtest.LateLast, backendtest.Kept)
		},
		Answer: func(r *infer.Request) *infer.Response {
			if decoupled {
				r.Respond(response(), false)
				r.Respond(nil, false)
			}
			return response()
		},
	}
}

func chance() {
	if rand.IntN(20) == 0 {
		panic("by chance")
	}
}

// wildSink returns a sink that panics at most once, before it has taken anything.
func wildSink() *infertest.Sink {
	s, panicked := infertest.NewSink(), false
	s.Before = func() {
		if !panicked && rand.IntN(20) == 0 {
			panicked = true
			panic("by chance")
		}
	}
	return s
}

// TestStressWithFaultsEverywhere runs requests over a backend, traces, observers and
// sinks that break at every point. Each request has one end, instances come
// back, and no memory is lost.
func TestStressWithFaultsEverywhere(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			faultStorm(t, n)
		})
	}
}

func faultStorm(t *testing.T, n int) {
	cfg := batching(4, time.Duration(n%2)*100*time.Microsecond)
	memory := tensortest.New(nil)
	memory.Refuse(tensortest.Sometimes(uint64(n), 0.1))
	decoupled := n%4 >= 2
	e := chaos(memory.Pool, decoupled)
	counters, log := stats.NewModel("m", "1", 4), slog.New(slog.DiscardHandler)
	sequences := n%3 == 0
	o := instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: e, Placements: make([]backend.Placement, 2), Stats: counters, Log: log,
	}
	cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: decoupled}
	if sequences {
		cfg.SchedulingChoice = &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{
			MaxSequenceIdleMicroseconds: 2000,
		}}
		if n%2 == 0 {
			cfg.GetSequenceBatching().StrategyChoice = &inferencepb.ModelSequenceBatching_Oldest{
				Oldest: &inferencepb.ModelSequenceBatching_StrategyOldest{MaxCandidateSequences: 4},
			}
		}
		var err error
		o.Source, o.Slots, err = sequence.New(sequence.Options{Config: cfg, Slots: 2, Stats: counters, Log: log, Pool: memory.Pool})
		require.NoError(t, err)
	} else {
		o.Source, o.Slots = queue(cfg, 2, counters, nil)
	}
	g := instance.New(o)
	require.NoError(t, g.Start(context.Background()))
	var clients sync.WaitGroup
	var sinks [6][]*infertest.Sink
	for client := range sinks {
		clients.Go(func() {
			for i := range 150 {
				s := wildRequest(g, memory.Pool, uint64(client*1000+i+1), n%2 == 0 && i%2 == 0)
				if s != nil {
					sinks[client] = append(sinks[client], s)
				}
			}
		})
	}
	time.Sleep(time.Duration(rand.IntN(100)) * time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(30))*time.Millisecond)
	defer cancel()
	if err := g.Drain(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = g.Drain(context.Background()) // closing may panic
	}
	clients.Wait()
	for _, s := range slices.Concat(sinks[:]...) {
		require.Equal(t, 1, s.Ends())
	}
	require.Zero(t, counters.Pending.Load())
	require.Zero(t, memory.Outstanding())
}

// wildRequest sends one request and waits a while for its end. The sink is nil when
// the request was refused, or had a caller.
func wildRequest(g *instance.Group, pool *tensor.Pool, id uint64, unary bool) *infertest.Sink {
	r := infer.NewUnpooled()
	defer r.Release()
	r.ID, r.ModelName, r.Batch = fmt.Sprint(id), "m", 1
	r.SequenceID, r.SequenceStart, r.SequenceEnd = id, true, true
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Uint8, tensor.Shape{1, 8}
	mem, err := pool.TryGet(8)
	if err != nil {
		mem = tensor.HeapBuffer(make([]byte, 8))
	}
	in.Data = tensor.NewData(mem)
	r.Trace = infertest.TraceFunc(func(infer.Event) { chance() })
	r.Observer = infertest.ObserverFunc(func(*infer.Request, *infer.Response, bool) { chance() })
	if unary {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond) // it may be kept for ever
		defer cancel()
		if resp, err := g.Infer(ctx, r); err == nil {
			resp.Release()
		}
		return nil
	}
	s := wildSink()
	r.Sink = s
	if g.Submit(r) != nil {
		r.Release()
		return nil
	}
	if rand.IntN(3) == 0 {
		r.Cancel()
	}
	select {
	case <-s.Done():
	case <-time.After(5 * time.Millisecond): // kept for ever: a drain or a restart answers it
	}
	return s
}
