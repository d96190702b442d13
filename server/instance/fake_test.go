package instance_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// group starts a group over a model; it is drained when the test ends.
func group(t testing.TB, cfg *inferencepb.ModelConfig, m backend.Model, instances int, change ...func(*instance.Options)) (*instance.Group, *stats.Model) {
	t.Helper()
	o := instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: m,
		Placements: make([]backend.Placement, instances),
		Stats:      stats.NewModel("m", "1", int(cfg.GetMaxBatchSize())),
		Log:        slog.New(slog.DiscardHandler),
	}
	for i := range o.Placements {
		o.Placements[i].Name = fmt.Sprintf("m_0_%d", i)
	}
	for _, c := range change {
		c(&o)
	}
	if o.Source == nil {
		o.Source, o.Slots = queue(cfg, instances, o.Stats, nil)
	}
	g := instance.New(o)
	require.NoError(t, g.Start(context.Background()))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, g.Drain(ctx))
		require.Zero(t, o.Stats.Pending.Load())
	})
	return g, o.Stats
}

// queue returns the queue of the configuration.
func queue(cfg *inferencepb.ModelConfig, instances int, counters *stats.Model, alarm scheduler.Alarm, change ...func(*scheduler.Options)) (scheduler.Source, []*scheduler.Slot) {
	o := scheduler.Options{
		Policy: scheduler.NoBatching{}, Rules: scheduler.RulesOf(cfg), Ordered: cfg.GetDynamicBatching().GetPreserveOrdering(),
		Slots: instances, Stats: counters, Alarm: alarm,
	}
	if cfg.GetDynamicBatching() != nil {
		o.Policy = scheduler.NewDynamicBatching(cfg)
	}
	for _, c := range change {
		c(&o)
	}
	return scheduler.NewQueue(o)
}

// queued changes the queue of a group.
func queued(change func(*scheduler.Options)) func(*instance.Options) {
	return func(o *instance.Options) {
		o.Source, o.Slots = queue(o.Config, len(o.Placements), o.Stats, nil, change)
	}
}

func batching(max int32, delay time.Duration, preferred ...int32) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		Name: "m", MaxBatchSize: max,
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
			PreferredBatchSize: preferred, MaxQueueDelayMicroseconds: uint64(delay.Microseconds()),
		}},
	}
}

func request(id string, rows int) *infer.Request {
	r := infer.NewUnpooled()
	r.ID, r.Batch, r.ModelName = id, rows, "m"
	return r
}

// call makes a unary request as a frontend does.
func call(ctx context.Context, g *instance.Group, r *infer.Request) error {
	defer r.Release()
	resp, err := g.Infer(ctx, r)
	if err != nil {
		return err
	}
	resp.Release()
	return nil
}

// variable is an input whose first dimension after the batch may vary.
func variable(ragged bool) []*inferencepb.ModelInput {
	return []*inferencepb.ModelInput{{Name: "IN", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}, AllowRaggedBatch: ragged}}
}

func shaped(r *infer.Request, width int64) *infer.Request {
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, append(in.Shape, int64(r.Batch), width)
	return r
}
