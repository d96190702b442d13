package instance_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
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
	"triton/server/scheduler/dynamic"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeBackend takes a fixed time for a batch and records what it ran.
type fakeBackend struct {
	exec  time.Duration
	begin time.Time
	mu    struct {
		sync.Mutex
		ran    []string // "<ms since begin>: <rows>"
		by     []string // "<ms since begin>: <IDs>"
		ids    []string
		closed int
	}
	execute   func(ctx context.Context, b *infer.Batch) error // instead of sleeping
	decoupled bool                                            // execute sends all responses
	once      int                                             // number of instances that can be created; 0: unlimited
	made      atomic.Int64
	late      sync.WaitGroup // responses after the call
}

func (e *fakeBackend) NewInstance(context.Context, backend.Placement) (backend.Instance, error) {
	if n := e.made.Add(1); e.once > 0 && n > int64(e.once) {
		return nil, errors.New("no more instances")
	}
	return (*fakeInstance)(e), nil
}

func (e *fakeBackend) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mu.closed++
	return nil
}

func (e *fakeBackend) ran() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.mu.ran...)
}

// batches are the executions, by the IDs of their requests.
func (e *fakeBackend) batches() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.mu.by...)
}

type fakeInstance fakeBackend

func (e *fakeInstance) Execute(ctx context.Context, b *infer.Batch) error {
	e.mu.Lock()
	e.mu.ran = append(e.mu.ran, fmt.Sprintf("%d: %d", time.Since(e.begin).Milliseconds(), b.Rows))
	var ids []string
	for _, r := range b.Requests {
		ids = append(ids, r.ID)
	}
	e.mu.ids = append(e.mu.ids, ids...)
	e.mu.by = append(e.mu.by, fmt.Sprintf("%d: %s", time.Since(e.begin).Milliseconds(), strings.Join(ids, ",")))
	e.mu.Unlock()
	b.InputEnd = infer.Now()
	if e.execute != nil {
		if err := e.execute(ctx, b); err != nil {
			return err
		}
	} else if e.exec > 0 {
		time.Sleep(e.exec)
	}
	b.OutputStart = infer.Now()
	if e.decoupled {
		return nil
	}
	for _, r := range b.Requests {
		if r.State() != infer.Answered {
			r.Respond(infer.NewResponse(), true)
		}
	}
	return nil
}

func (e *fakeInstance) Close() error {
	e.late.Wait()
	return (*fakeBackend)(e).Close()
}

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
		o.Policy = dynamic.New(cfg)
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

// sink takes the answers of submitted requests.
type sink struct {
	answers chan error
}

func (s *sink) Send(resp *infer.Response, final bool) {
	if !final {
		return
	}
	err := resp.Err
	resp.Release()
	s.answers <- err
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
