package simulate_test

import (
	"context"
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
	"triton/server/stats"
)

// Costs that the clock can keep: a full batch takes 10.4 ms.
const (
	realBatch = 4 * time.Millisecond
	realRow   = 200 * time.Microsecond
)

// timed is a backend whose batches take their time, as exactly as the machine
// lets it.
type timed struct {
	cost         func(rows int) time.Duration
	meant, taken time.Duration // together
}

// real is the cost as it was.
func (e *timed) real(rows int) time.Duration {
	return time.Duration(float64(e.cost(rows)) * float64(e.taken) / float64(e.meant))
}

func (e *timed) execute(_ context.Context, b *infer.Batch) error {
	begin := infer.Now()
	end := begin + int64(e.cost(b.Rows))
	time.Sleep(time.Duration(end-infer.Now()) - 1200*time.Microsecond) // it may be late by a millisecond
	for infer.Now() < end {
		runtime.Gosched()
	}
	e.meant += e.cost(b.Rows)
	e.taken += time.Duration(infer.Now() - begin)
	return nil
}

// BenchmarkOfBest is TestThroughput with the real queue, instance and clock. It reports the share
// of the best schedule's throughput, over the whole time and in the worst tenth. The best schedule
// is computed with the measured times of the backend, so that a busy machine does not lower the
// share. Run it with -benchtime=1x.
func BenchmarkOfBest(b *testing.B) {
	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			var whole, worst float64
			e := &timed{cost: simulate.Linear(realBatch, realRow)}
			for b.Loop() {
				rate := load.share * capacity(realBatch, realRow)
				trace, ends := live(b, poisson(1, int(3*rate), rate), e) // of three seconds
				whole, worst = shares(trace, ends, e.real)
			}
			b.ReportMetric(100*float64(e.taken)/float64(e.meant), "%-backend-time")
			b.ReportMetric(100*whole, "%-of-best")
			b.ReportMetric(100*worst, "%-at-worst")
		})
	}
}

// live serves a trace and returns when its requests arrived and were answered in real time.
func live(b *testing.B, trace []simulate.Arrival, e *timed) ([]simulate.Arrival, []time.Duration) {
	cfg := batching(synthMax, &inferencepb.ModelDynamicBatching{})
	counters := stats.NewModel("m", "1", synthMax)
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NewDynamicBatching(cfg), Slots: 1, Stats: counters})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: &backendtest.Model{Run: e.execute}, Placements: make([]backend.Placement, 1),
		Source: source, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, g.Start(b.Context()))
	came, went := make([]simulate.Arrival, len(trace)), make([]int64, len(trace))
	var all sync.WaitGroup
	all.Add(len(trace))
	begin := infer.Now()
	for i, a := range trace {
		if wait := begin + int64(a.At) - infer.Now(); wait > 0 {
			time.Sleep(time.Duration(wait))
		}
		r := infer.NewRequest()
		r.Batch, r.Sink = 1, infertest.SinkFunc(func(resp *infer.Response, _ bool) {
			went[i] = infer.Now()
			resp.Release()
			all.Done()
		})
		came[i].At = time.Duration(r.Times.Received - begin)
		require.NoError(b, g.Submit(r))
		r.Release()
	}
	all.Wait()
	require.NoError(b, g.Drain(b.Context()))
	ends := make([]time.Duration, len(trace))
	for i := range ends {
		ends[i] = time.Duration(went[i] - begin)
	}
	return came, ends
}
