package instance_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/stats"
)

// final collects the errors of requests and says how many have ended.
type final struct {
	errs []string
	n    chan struct{}
}

func (f *final) Send(resp *infer.Response, final bool) {
	if resp != nil {
		if resp.Err != nil {
			f.errs = append(f.errs, resp.Err.Error())
		}
		resp.Release()
	}
	if final {
		f.n <- struct{}{}
	}
}

func warmUp(f *final, requests int) func(context.Context, int, backend.Placement, func([]*infer.Request)) error {
	return func(_ context.Context, slot int, at backend.Placement, run func([]*infer.Request)) error {
		all := make([]*infer.Request, requests)
		for i := range all {
			all[i] = infer.NewUnpooled()
			all[i].Sink = f
		}
		run(all)
		for _, r := range all {
			<-f.n
			r.Release()
		}
		if len(f.errs) > 0 {
			return errors.New(f.errs[0])
		}
		return nil
	}
}

func TestInstancesWarmUpBeforeTheyServe(t *testing.T) {
	t.Parallel()
	for _, decoupled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			cfg := &inferencepb.ModelConfig{MaxBatchSize: 8}
			e := &fakeBackend{begin: time.Now(), exec: time.Second, decoupled: decoupled}
			if decoupled {
				cfg.ModelTransactionPolicy = &inferencepb.ModelTransactionPolicy{Decoupled: true}
				e.execute = func(_ context.Context, b *infer.Batch) error {
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
				o.WarmUp = warmUp(&final{n: make(chan struct{}, 9)}, 3)
				o.Passive = make([]backend.Placement, 2)
			})
			require.Equal(t, time.Second, time.Since(e.begin), "both at once, and no passive one")
			require.Equal(t, []string{"0: 3", "0: 3"}, e.ran())
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
		e := &fakeBackend{execute: execute}
		o := instance.Options{
			Name: "m", Version: "1", Config: &inferencepb.ModelConfig{}, Model: e, Stats: stats.NewModel("m", "1", 0),
			Placements: []backend.Placement{{Name: "m_0_0"}}, Passive: make([]backend.Placement, 1), Log: slog.New(slog.DiscardHandler),
			WarmUp: warmUp(&final{n: make(chan struct{}, 1)}, 1),
		}
		o.Source, o.Slots = queue(o.Config, 1, o.Stats, nil)
		require.EqualError(t, instance.New(o).Start(t.Context()), name)
		require.Equal(t, 3, e.mu.closed, "both instances and the model")
		require.EqualValues(t, 1, o.Stats.Counters().Failures[stats.Backend])
	}
}
