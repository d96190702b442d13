package instance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/pkg/tensor/tensortest"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

// chaos is a backend that breaks at every point there is, by chance.
type chaos struct {
	decoupled bool
	pool      *tensor.Pool
	made      atomic.Int64
}

type chaosInstance struct {
	*chaos
	late   sync.WaitGroup
	closed chan struct{}
	broken chan error
}

func (c *chaos) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	if n := c.made.Add(1); n > 2 && rand.IntN(4) == 0 {
		if rand.IntN(2) == 0 {
			panic("while an instance is made")
		}
		return nil, errors.New("no instance this time")
	}
	return &chaosInstance{chaos: c, closed: make(chan struct{}), broken: make(chan error, 1)}, nil
}

func (c *chaos) Close() error { return nil }

func (i *chaosInstance) Broken() <-chan error { return i.broken }

func (i *chaosInstance) Close() error {
	close(i.closed)
	i.late.Wait()
	if rand.IntN(8) == 0 {
		panic("while it is closed")
	}
	return nil
}

func (i *chaosInstance) response() *infer.Response {
	resp := infer.NewResponse()
	buf, err := i.pool.TryGet(16)
	if err != nil {
		resp.Err = err
		return resp
	}
	resp.Add("OUT", tensor.Uint8, tensor.Shape{16}, tensor.NewData(buf))
	return resp
}

func (i *chaosInstance) Execute(ctx context.Context, b *infer.Batch) error {
	switch rand.IntN(60) {
	case 0:
		panic("at the beginning")
	case 1:
		return errors.New("failed")
	case 2:
		return fmt.Errorf("gone: %w", backend.ErrBroken)
	case 3: // stuck until a timeout
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(3)) * time.Millisecond):
		}
	case 4:
		select {
		case i.broken <- errors.New("the child ended"):
		default:
		}
	}
	for _, r := range b.Requests {
		if !r.Membership.Null {
			i.run(r)
		}
	}
	switch rand.IntN(60) {
	case 0:
		panic("at the end")
	case 1:
		return errors.New("failed at the end")
	}
	return nil
}

func (i *chaosInstance) run(r *infer.Request) {
	switch rand.IntN(8) {
	case 0: // never
	case 1: // twice
		r.Respond(i.response(), true)
		r.Respond(i.response(), true)
	case 2:
		r.Fail(errors.New("refused"))
	case 3: // late
		r.Keep()
		i.late.Go(func() {
			i.sleep()
			r.Respond(i.response(), true)
			i.sleep()
			r.LetGo()
		})
	case 4: // late, and lets go first
		r.Keep()
		i.late.Go(func() {
			i.sleep()
			r.LetGo()
			i.sleep()
			r.Respond(i.response(), true)
		})
	case 5: // kept, and never answered
		r.Keep()
	default:
		if i.decoupled {
			r.Respond(i.response(), false)
			r.Respond(nil, false)
		}
		r.Respond(i.response(), true)
	}
}

func (i *chaosInstance) sleep() {
	select {
	case <-i.closed:
	case <-time.After(time.Duration(rand.IntN(1000)) * time.Microsecond):
	}
}

// wild is a trace that panics now and then.
type wild struct{}

func chance() {
	if rand.IntN(20) == 0 {
		panic("by chance")
	}
}

func (wild) Observe(infer.Event) { chance() }
func (wild) Child() infer.Trace  { return nil }

type wildObserver struct{}

func (wildObserver) Observe(*infer.Request, *infer.Response, bool) { chance() }

// wildSink counts the ends of a request.
type wildSink struct {
	ends     atomic.Int32
	panicked bool
	done     chan struct{}
}

// Send panics at most once, before it has taken anything.
func (w *wildSink) Send(resp *infer.Response, final bool) {
	if !w.panicked && rand.IntN(20) == 0 {
		w.panicked = true
		panic("by chance")
	}
	if resp != nil {
		resp.Release()
	}
	if final {
		if w.ends.Add(1) == 1 {
			close(w.done)
		}
	}
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
	e := &chaos{decoupled: n%4 >= 2, pool: memory.Pool}
	counters, log := stats.NewModel("m", "1", 4), slog.New(slog.DiscardHandler)
	sequences := n%3 == 0
	o := instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: e, Placements: make([]backend.Placement, 2), Stats: counters, Log: log,
	}
	cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: e.decoupled}
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
		o.Source, o.Slots, err = sequence.New(sequence.Options{Config: cfg, Slots: 2, Stats: counters, Log: log, Pool: e.pool})
		require.NoError(t, err)
	} else {
		o.Source, o.Slots = queue(cfg, 2, counters, nil)
	}
	g := instance.New(o)
	require.NoError(t, g.Start(context.Background()))
	var clients sync.WaitGroup
	var sinks [6][]*wildSink
	for client := range sinks {
		clients.Go(func() {
			for i := range 150 {
				s := wildRequest(g, e.pool, uint64(client*1000+i+1), n%2 == 0 && i%2 == 0)
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
		require.EqualValues(t, 1, s.ends.Load())
	}
	require.Zero(t, counters.Pending.Load())
	require.Zero(t, e.pool.Outstanding())
}

// wildRequest sends one request and waits a while for its end. The sink is nil when
// the request was refused, or had a caller.
func wildRequest(g *instance.Group, pool *tensor.Pool, id uint64, unary bool) *wildSink {
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
	r.Trace, r.Observer = wild{}, wildObserver{}
	if unary {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond) // it may be kept for ever
		defer cancel()
		if resp, err := g.Infer(ctx, r); err == nil {
			resp.Release()
		}
		return nil
	}
	s := &wildSink{done: make(chan struct{})}
	r.Sink = s
	if g.Submit(r) != nil {
		r.Release()
		return nil
	}
	if rand.IntN(3) == 0 {
		r.Cancel()
	}
	select {
	case <-s.done:
	case <-time.After(5 * time.Millisecond): // kept for ever: a drain or a restart answers it
	}
	return s
}
