package sequence_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler/sequence"
	"triton/server/stats"
)

// rough is a backend that answers late, fails, panics now and then and, if allowed, reschedules
// requests.
type rough struct {
	backendtest.Model
	decoupled, again bool
	states           bool
	panics           int // one batch in that many
	pool             *tensor.Pool
	wrong            atomic.Int64 // requests without all their controls and states
}

// complete reports whether a request has four controls, and a state of the shape that
// the first of its batch has.
func (e *rough) complete(r, first *infer.Request) bool {
	if !e.states {
		return len(r.Extras()) == 4
	}
	return len(r.Extras()) == 5 && r.Input("IN STATE").Shape.Equal(first.Input("IN STATE").Shape)
}

// remember updates the state with one of any size.
func (e *rough) remember(r *infer.Request) error {
	if !e.states {
		return nil
	}
	n := rand.IntN(2) + 1
	return r.Membership.States.Update("OUT", tensor.Uint8, tensor.Shape{1, int64(n)}, tensor.NewData(e.pool.Get(n)))
}

func (e *rough) execute(_ context.Context, b *infer.Batch) error {
	if rand.IntN(20) == 0 {
		return errors.New("no luck")
	}
	if e.panics > 0 && rand.IntN(e.panics) == 0 {
		panic("enough")
	}
	end := rand.IntN(1 + e.panics)
	for _, r := range b.Requests {
		if !e.complete(r, b.Requests[0]) {
			e.wrong.Add(1)
		}
		if err := e.remember(r); err != nil {
			return err
		}
		switch {
		case r.Membership.Null:
		case e.again && rand.IntN(2) == 0:
			if err := r.Reschedule(); err != nil {
				return err
			}
			if e.decoupled {
				r.Respond(infer.NewResponse(), false)
			}
		case e.decoupled && end > 1:
			e.Go(func() {
				_ = e.remember(r)
				r.Respond(infer.NewResponse(), true)
			})
		default:
			r.Respond(infer.NewResponse(), true)
		}
	}
	switch end {
	case 0:
		return errors.New("too late")
	case 1:
		panic("at the end")
	}
	return nil
}

// TestStress mixes sequences that end, are canceled, wait too long or are idle,
// instances that break down and a drain that may give up.
func TestStress(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			cfg := direct(4, uint64(n%2), 0.5)
			if n%3 == 0 {
				cfg = oldest(4, 3, uint64(n%2), 2, 4)
				cfg.GetSequenceBatching().GetOldest().PreserveOrdering = true
			}
			e := &rough{decoupled: n%4 >= 2, again: n%6 >= 3, states: n%5 > 1, panics: 400}
			e.Own, e.Run = true, e.execute
			cfg.Name = "m"
			cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: e.decoupled}
			c := cfg.GetSequenceBatching()
			c.IterativeSequence, c.MaxSequenceIdleMicroseconds, c.ControlInput = e.again, 2000, allControls(tensor.Uint64)
			storm(t, cfg, e)
		})
	}
}

func storm(t *testing.T, cfg *inferencepb.ModelConfig, e *rough) {
	pool, counters, log := tensor.NewPool(), stats.NewModel("m", "1", 4), slog.New(slog.DiscardHandler)
	o := sequence.Options{Config: cfg, Slots: 2, Stats: counters, Log: log, Pool: pool}
	if e.states {
		cfg.GetSequenceBatching().State = []*inferencepb.ModelSequenceBatching_State{
			{InputName: "IN STATE", OutputName: "OUT", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{-1}},
		}
		memory, err := sequence.NewImplicitStates(sequence.StateOptions{Config: cfg, Pool: pool, Log: log})
		require.NoError(t, err)
		o.States, e.pool = memory, pool
	}
	source, slots, err := sequence.New(o)
	require.NoError(t, err)
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: &e.Model, Placements: make([]backend.Placement, 2),
		Source: source, Slots: slots, Stats: counters, Log: log,
	})
	require.NoError(t, g.Start(context.Background()))
	var clients sync.WaitGroup
	for client := range 8 {
		clients.Go(func() {
			for i := range 60 {
				run(t, g, pool, fmt.Sprintf("%d.%d", client, i))
			}
		})
	}
	if rand.IntN(2) == 0 {
		clients.Wait()
	} else {
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // a drain at any time
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(rand.IntN(3))*time.Millisecond)
	defer cancel()
	if g.Drain(ctx) != nil {
		require.NoError(t, g.Drain(context.Background()))
	}
	clients.Wait()
	require.Zero(t, counters.Pending.Load())
	require.Zero(t, source.SlotsInUse())
	require.Zero(t, e.wrong.Load())
	require.Zero(t, pool.Outstanding())
}

// run is one sequence of a client; it may break off.
func run(t *testing.T, g *instance.Group, pool *tensor.Pool, id string) {
	length := 1 + rand.IntN(5)
	var sent []*infertest.Sink
	for k := range length {
		r := infer.NewUnpooled()
		r.ModelName, r.SequenceIDStr, r.Batch = "m", "", 1
		for _, c := range id {
			r.SequenceID = r.SequenceID*16 + uint64(c)
		}
		r.SequenceStart, r.SequenceEnd = k == 0, k == length-1
		r.TimeoutMicros = uint64(rand.IntN(3)) * 500
		in := r.AddInput()
		in.Name, in.DataType, in.Shape = "IN", tensor.Uint8, tensor.Shape{1, 1 + rand.Int64N(2)}
		in.Data = tensor.NewData(pool.Get(int(in.Shape[1])))
		c := infertest.NewSink()
		r.Sink = c
		if err := g.Submit(r); err != nil {
			ok := strings.Contains(err.Error(), "START") || strings.Contains(err.Error(), "stopping") || strings.Contains(err.Error(), "no working instance")
			require.True(t, ok, err.Error())
			r.Release()
			r.Release()
			break
		}
		sent = append(sent, c)
		if rand.IntN(30) == 0 {
			r.Cancel()
		}
		r.Release()
		switch rand.IntN(20) {
		case 0:
			length = 0
		case 1:
			time.Sleep(time.Duration(rand.IntN(4)) * time.Millisecond)
		}
		if length == 0 {
			break
		}
	}
	for _, c := range sent {
		<-c.Done()
		require.Equal(t, 1, c.Ends())
	}
}
