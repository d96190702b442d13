package instance_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/stats"
)

func warmUp(errs infertest.Errors, requests int) func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
	return func(_ context.Context, slot int, at backend.Placement, run func([]*infer.Request)) error {
		all := make([]*infer.Request, requests)
		for i := range all {
			all[i] = infer.NewUnpooled()
			all[i].Sink = errs
		}
		run(all)
		var first error
		for _, r := range all {
			first = cmp.Or(first, <-errs)
			r.Release()
		}
		return first
	}
}

func TestInstancesWarmUpBeforeTheyServe(t *testing.T) {
	t.Parallel()
	for _, decoupled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := &inferencepb.ModelConfig{MaxBatchSize: 8}
			e := &backendtest.Model{Begin: time.Now(), Own: decoupled}
			if !decoupled {
				e.Time = backendtest.Takes(time.Second)
			} else {
				cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
				e.Run = func(_ context.Context, b *infer.Batch) error {
					for _, r := range b.Requests {
						go func() {
							time.Sleep(time.Second)
							r.Respond(infer.NewResponse(), false)
							r.Respond(nil, true)
						}()
					}
					return nil
				}
			}
			_, counters := group(t, cfg, e, 2, func(o *instance.Options) {
				o.WarmUp = warmUp(make(infertest.Errors, 9), 3)
				o.Passive = make([]backend.Placement, 2)
			})
			require.Equal(t, time.Second, time.Since(e.Begin), "both at once, and no passive one")
			require.Equal(t, []string{"0: 3", "0: 3"}, e.Rows())
			require.EqualValues(t, 6, counters.Counters().Success.Count)
			require.EqualValues(t, 2, counters.Counters().Executions)
			require.Zero(t, counters.Counters().Closes, "no scheduler has closed these batches")
		})
	}
}

func TestAnInstanceThatDoesNotWarmUpIsClosed(t *testing.T) {
	t.Parallel()
	for name, execute := range map[string]func(context.Context, *infer.Batch) error{
		"boom": func(context.Context, *infer.Batch) error { return errors.New("boom") },
		"instance 'm_0_0' of model 'm' broke down during execution": func(context.Context, *infer.Batch) error { panic("x") },
	} {
		e := &backendtest.Model{Run: execute}
		o := instance.Options{
			Name: "m", Version: "1", Config: &inferencepb.ModelConfig{}, Model: e, Stats: stats.NewModel("m", "1", 0),
			Placements: []backend.Placement{{Name: "m_0_0"}}, Passive: make([]backend.Placement, 1), Log: slog.New(slog.DiscardHandler),
			WarmUp: warmUp(make(infertest.Errors, 1), 1),
		}
		o.Source, o.Slots = queue(o.Config, 1, o.Stats, nil)
		require.EqualError(t, instance.New(o).Start(t.Context()), name)
		require.Equal(t, 3, e.Closed(), "both instances and the model")
		require.EqualValues(t, 1, o.Stats.Counters().Failures[stats.Backend])
	}
}
