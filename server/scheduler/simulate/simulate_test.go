package simulate_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
	"triton/server/stats"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func batching(max int32, d *inferencepb.ModelDynamicBatching) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{
		Name: "m", MaxBatchSize: max,
		Input:            []*inferencepb.ModelInput{{Name: "IN", DataType: inferencepb.DataType_TYPE_INT32, Dims: []int64{-1}}},
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: d},
	}
}

// scenario is a random model and trace. Times are random nanoseconds, so that only intended events
// are simultaneous.
func scenario(r *rand.Rand) (simulate.Model, []simulate.Arrival) {
	d := &inferencepb.ModelDynamicBatching{}
	maxBatch := int32(1 + r.IntN(16))
	if r.IntN(3) > 0 {
		d.MaxQueueDelayMicroseconds = uint64(r.IntN(5000))
	}
	for n := int32(1 + r.IntN(8)); n <= maxBatch && r.IntN(3) > 0; n += int32(1 + r.IntN(8)) {
		d.PreferredBatchSize = append(d.PreferredBatchSize, n)
	}
	policy := func() *inferencepb.ModelQueuePolicy {
		p := &inferencepb.ModelQueuePolicy{AllowTimeoutOverride: r.IntN(2) == 0, TimeoutAction: inferencepb.ModelQueuePolicy_TimeoutAction(r.IntN(2))}
		if r.IntN(2) == 0 {
			p.MaxQueueSize = uint32(1 + r.IntN(20))
		}
		if r.IntN(2) == 0 {
			p.DefaultTimeoutMicroseconds = uint64(1 + r.IntN(20000))
		}
		return p
	}
	d.DefaultQueuePolicy = policy()
	if r.IntN(2) == 0 {
		d.PriorityLevels, d.DefaultPriorityLevel = 3, 2
		d.PriorityQueuePolicy = map[uint64]*inferencepb.ModelQueuePolicy{1: policy()}
	}
	cfg := batching(maxBatch, d)
	if r.IntN(8) == 0 {
		cfg.SchedulingChoice = nil
	}
	m := simulate.Model{
		Config: cfg, Instances: 1 + r.IntN(3),
		Cost: simulate.Linear(time.Duration(1+r.IntN(3_000_000)), time.Duration(1+r.IntN(500_000))),
	}
	gap := float64(100_000 + r.IntN(3_000_000))
	var trace []simulate.Arrival
	at := time.Duration(0)
	for range 20 + r.IntN(150) {
		if r.IntN(6) > 0 { // else a burst
			at += time.Duration(gap*r.ExpFloat64()) + 1
		}
		trace = append(trace, simulate.Arrival{
			At: at, Rows: 1 + r.IntN(int(min(maxBatch, 3))), Shape: int64(1 + r.IntN(8)/7),
			Priority: uint64(r.IntN(5)), Timeout: time.Duration(r.IntN(20000)) * time.Microsecond,
		})
	}
	return m, trace
}

// serve runs a trace through the real queue and instances, in a bubble.
func serve(t *testing.T, m simulate.Model, trace []simulate.Arrival) (result *simulate.Result, closes map[stats.CloseReason]uint64) {
	var policy scheduler.Policy = scheduler.NoBatching{}
	if m.Config.GetDynamicBatching() != nil {
		policy = scheduler.NewDynamicBatching(m.Config)
	}
	e := &backendtest.Model{Begin: time.Now(), Time: m.Cost}
	counters := stats.NewModel("m", "1", int(m.Config.GetMaxBatchSize()))
	source, slots := scheduler.NewQueue(scheduler.Options{
		Policy: policy, Rules: scheduler.RulesOf(m.Config), Slots: m.Instances, Stats: counters,
	})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: m.Config, Model: e, Placements: make([]backend.Placement, m.Instances),
		Source: source, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, g.Start(t.Context()))
	synctest.Wait()
	result = &simulate.Result{Outcomes: make([]simulate.Outcome, len(trace)), Latency: make([]time.Duration, len(trace))}
	var all sync.WaitGroup
	for i, a := range trace {
		time.Sleep(a.At - time.Since(e.Begin))
		all.Add(1)
		r := request(i, a)
		began := time.Now()
		r.Sink = infertest.SinkFunc(func(resp *infer.Response, _ bool) {
			result.Outcomes[i] = simulate.Expired
			if resp.Err == nil {
				result.Outcomes[i], result.Latency[i] = simulate.Answered, time.Since(began)
			}
			resp.Release()
			all.Done()
		})
		if err := g.Submit(r); err != nil {
			require.Equal(t, status.Unavailable, status.CodeOf(err))
			result.Outcomes[i] = simulate.Rejected
			r.Release()
			all.Done()
		}
		r.Release()
		synctest.Wait()
	}
	all.Wait()
	require.NoError(t, g.Drain(t.Context()))
	for _, b := range e.Batches() {
		did := simulate.Batch{Start: b.At, End: b.At + m.Cost(b.Rows), Rows: b.Rows}
		for _, id := range b.IDs {
			n, err := strconv.Atoi(id)
			require.NoError(t, err)
			did.Members = append(did.Members, n)
		}
		result.Batches = append(result.Batches, did)
	}
	closes = map[stats.CloseReason]uint64{}
	for why, n := range counters.Counters().Closes {
		if n > 0 {
			closes[stats.CloseReason(why)] = n
		}
	}
	return result, closes
}

func request(i int, a simulate.Arrival) *infer.Request {
	r := infer.NewUnpooled()
	r.ID, r.ModelName, r.Batch, r.Priority, r.TimeoutMicros = strconv.Itoa(i), "m", a.Rows, a.Priority, uint64(a.Timeout.Microseconds())
	in := r.AddInput()
	in.Name, in.DataType, in.Shape = "IN", tensor.Int32, tensor.Shape{int64(a.Rows), a.Shape}
	return r
}

// TestSameAsTheServer: the simulator has the batches, latencies and refusals of the real queue and
// instances.
func TestSameAsTheServer(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			m, trace := scenario(rand.New(rand.NewPCG(seed, 5)))
			want := simulate.Run(m, trace)
			synctest.Test(t, func(t *testing.T) {
				got, gotCloses := serve(t, m, trace)
				closes := map[stats.CloseReason]uint64{}
				for i := range want.Batches { // the backend does not know these
					closes[want.Batches[i].Why]++
					want.Batches[i].Instance, want.Batches[i].Why = 0, 0
				}
				byStart := func(a, b simulate.Batch) int { return slices.Compare(a.Members, b.Members) }
				slices.SortFunc(got.Batches, byStart)
				slices.SortFunc(want.Batches, byStart)
				require.Equal(t, want, got)
				require.Equal(t, closes, gotCloses)
			})
		})
	}
}

func TestDeterministic(t *testing.T) {
	t.Parallel()
	m, trace := scenario(rand.New(rand.NewPCG(7, 7)))
	require.Equal(t, simulate.Run(m, trace), simulate.Run(m, trace))
}

func TestWaitingForEver(t *testing.T) {
	t.Parallel()
	m := simulate.Model{Config: batching(8, &inferencepb.ModelDynamicBatching{}), Policy: never{}, Cost: simulate.Linear(1, 1)}
	got := simulate.Run(m, []simulate.Arrival{{}, {At: 5}})
	require.Equal(t, 2, got.Count(simulate.Waiting))
}

type never struct{}

func (never) Evaluate(*scheduler.PriorityQueue, int64, bool) scheduler.Decision {
	return scheduler.Decision{}
}
