package model

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/scheduler/simulate"
	"triton/server/stats"
)

const ms = time.Millisecond

func admissionConfig(maxBatch int32) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{Name: "m", MaxBatchSize: maxBatch, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
		DynamicBatching: &inferencepb.ModelDynamicBatching{},
	}}
}

// observeBatch passes a batch of one-row requests to an estimate.
func observeBatch(e *finishEstimate, rows int, took time.Duration) {
	b := &infer.Batch{Rows: rows, Requests: make([]*infer.Request, rows)}
	e.Started(0, b, 0)
	e.Ended(0, b, scheduler.Execution{End: int64(took)})
}

func learnedEstimate(instances, maxRows int, cost func(int) time.Duration) *finishEstimate {
	e := newFinishEstimate(instances, maxRows)
	for i := range 64 {
		rows := 1 + i%max(maxRows, 1)
		observeBatch(e, rows, cost(rows))
	}
	return e
}

func TestFinishEstimate(t *testing.T) {
	t.Parallel()
	cost := simulate.Linear(10*ms, ms)
	busy := func(e *finishEstimate, slot, rows int, began time.Duration) {
		e.Started(slot, &infer.Batch{Rows: rows}, int64(began))
	}
	for name, c := range map[string]struct {
		instances, waiting, rows int
		busy                     []time.Duration // begin of a batch of four, by slot
		start                    time.Duration   // of the own batch
		own                      float64         // its rows, if more than usual
	}{
		"behind one batch":          {1, 0, 1, []time.Duration{0}, 14 * ms, 1},
		"of which half is done":     {1, 0, 1, []time.Duration{-7 * ms}, 7 * ms, 1},
		"that takes longer":         {1, 0, 1, []time.Duration{-20 * ms}, 0, 1},
		"with two others":           {1, 2, 1, []time.Duration{0}, 14 * ms, 3},
		"behind a full batch":       {1, 4, 1, []time.Duration{0}, 14*ms + 14*ms, 1},
		"behind two full and two":   {1, 10, 1, []time.Duration{0}, 14*ms + 28*ms, 3},
		"two instances":             {2, 4, 1, []time.Duration{0, 3 * ms}, 17 * ms, 1},
		"two instances, two rounds": {2, 11, 1, []time.Duration{0, 3 * ms}, 14*ms + 14*ms, 4},
		"an idle one":               {2, 3, 1, []time.Duration{0}, 0, 4},
		"a request of four rows":    {1, 0, 4, []time.Duration{0}, 14 * ms, 4},
	} {
		e := learnedEstimate(c.instances, 4, cost)
		for slot, began := range c.busy {
			busy(e, slot, 4, began)
		}
		got, known := e.FinishTime(0, c.waiting, c.rows)
		require.True(t, known, name)
		require.InDelta(t, c.start+10*ms+time.Duration(max(c.own, usualGoodput(4))*float64(ms)), got, 1000, name)
	}
}

// A broken instance gets no work.
func TestAdmissionWithBrokenInstances(t *testing.T) {
	t.Parallel()
	e := learnedEstimate(2, 4, simulate.Linear(10*ms, ms))
	one := &infer.Batch{Rows: 4, Requests: make([]*infer.Request, 4)}
	e.Started(0, one, 0)
	e.Started(1, one, 0)
	whole, known := e.FinishTime(0, 8, 1)
	require.True(t, known)
	e.Ended(1, one, scheduler.Execution{End: int64(ms), Failed: true, Broken: true})
	got, known := e.FinishTime(0, 8, 1)
	require.True(t, known, "no instance is idle")
	require.InDelta(t, whole+int64(14*ms), got, 1000, "two full batches are before it, on one instance")
	e.Ended(0, one, scheduler.Execution{End: int64(ms), Failed: true, Broken: true})
	_, known = e.FinishTime(0, 8, 1)
	require.False(t, known, "others refuse it")
}

// usualGoodput is the mean of the rows that learned has shown, of which the older count
// less.
func usualGoodput(maxRows int) float64 {
	w, x := 0.0, 0.0
	for i := range 64 {
		w, x = 0.98*w+1, 0.98*x+float64(1+i%maxRows)
	}
	return x / w
}

func TestKnowsTooLittle(t *testing.T) {
	t.Parallel()
	e := newFinishEstimate(1, 4)
	for range 7 {
		observeBatch(e, 1, time.Hour)
		_, known := e.FinishTime(0, 100, 1)
		require.False(t, known)
	}
	observeBatch(e, 1, time.Hour)
	_, known := e.FinishTime(0, 100, 1)
	require.True(t, known)
	_, known = e.FinishTime(0, 0, 1)
	require.False(t, known, "an idle instance is always tried, so that what is wrong is unlearned")

	one := learnedEstimate(1, 1, simulate.Linear(10*ms, 0))
	one.Started(0, &infer.Batch{Rows: 1}, 0)
	got, _ := one.FinishTime(0, 0, 8)
	require.EqualValues(t, 20*ms, got, "of larger batches nothing is known but that they take no less")
}

// overloadArrivals is a trace with twice the load that an instance can serve; each request has a timeout.
func overloadArrivals(timeout time.Duration) []simulate.Arrival {
	r := rand.New(rand.NewPCG(4, 4))
	trace := make([]simulate.Arrival, 20_000)
	at := 0.0
	for i := range trace {
		at += r.ExpFloat64() / 24_000 * 1e9
		trace[i] = simulate.Arrival{At: time.Duration(at), Timeout: timeout}
	}
	return trace
}

// TestGoodput: under overload nearly all work is for requests that are answered
// in time; without admission nearly none is.
func TestGoodput(t *testing.T) {
	t.Parallel()
	for _, instances := range []int{1, 2} {
		const timeout = 20 * ms
		trace := overloadArrivals(timeout / time.Duration(instances))
		for i := range trace {
			trace[i].Timeout = timeout
			trace[i].At /= time.Duration(instances)
		}
		m := simulate.Model{Config: admissionConfig(32), Instances: instances, Cost: simulate.Linear(ms, 50*time.Microsecond)}
		without := simulate.Run(m, trace)
		e := newFinishEstimate(instances, 32)
		m.Observer = e
		m.Admit = func(r *infer.Request, now int64, waiting int) error {
			return e.Check(r, now, waiting, time.Duration(r.TimeoutMicros)*time.Microsecond)
		}
		with := simulate.Run(m, trace)
		answered, inTime := with.Count(simulate.Answered), with.Within(timeout)
		t.Logf("%d instances: %d of %d in time without, %d with, of %d answered", instances, without.Within(timeout), len(trace), inTime, answered)
		require.Less(t, without.Within(timeout), len(trace)/10)
		require.Greater(t, inTime, len(trace)*45/100, "capacity is half of the load")
		require.Greater(t, inTime, answered*95/100)
		require.Equal(t, len(trace), answered+with.Count(simulate.Refused))
	}
}

// TestNoisyEstimate: backends whose times vary by 30 % make no more than a part of the work
// be for nothing.
func TestNoisyEstimate(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 6))
	line := simulate.Linear(ms, 50*time.Microsecond)
	e := newFinishEstimate(1, 32)
	got := simulate.Run(simulate.Model{
		Config: admissionConfig(32), Observer: e,
		Cost: func(rows int) time.Duration {
			return time.Duration(float64(line(rows)) * max(1+0.3*r.NormFloat64(), 0.1))
		},
		Admit: func(r *infer.Request, now int64, waiting int) error { return e.Check(r, now, waiting, 20*ms) },
	}, overloadArrivals(20*ms))
	inTime, answered := got.Within(20*ms), got.Count(simulate.Answered)
	t.Logf("%d in time of %d answered", inTime, answered)
	require.Greater(t, inTime, answered*9/10)
	require.Greater(t, answered, 9000)
}

// A load that can be served is served.
func TestRefusesNothingThatFits(t *testing.T) {
	t.Parallel()
	trace := overloadArrivals(20 * ms)
	for i := range trace {
		trace[i].At *= 3
	}
	e := newFinishEstimate(1, 32)
	got := simulate.Run(simulate.Model{
		Config: admissionConfig(32), Cost: simulate.Linear(ms, 50*time.Microsecond), Observer: e,
		Admit: func(r *infer.Request, now int64, waiting int) error { return e.Check(r, now, waiting, 20*ms) },
	}, trace)
	require.Equal(t, len(trace), got.Within(20*ms))
}

// startAdmission is a real queue and instance with admission in front.
func startAdmission(t *testing.T, maxBatch int32) (*admissionRunner, *stats.Model) {
	cfg, counters := admissionConfig(maxBatch), stats.NewModel("m", "1", int(maxBatch))
	q, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NewDynamicBatching(cfg), Slots: 1, Stats: counters})
	e := newFinishEstimate(1, int(maxBatch))
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: cfg, Model: &backendtest.Model{Time: simulate.Linear(10*ms, ms)}, Placements: make([]backend.Placement, 1),
		Source: q, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler), Observer: e,
	})
	require.NoError(t, g.Start(t.Context()))
	t.Cleanup(func() { require.NoError(t, g.Drain(context.Background())) })
	return newAdmission(g, e, q, counters), counters
}

func callWithin(ctx context.Context, a infer.Runner, timeout time.Duration) error {
	r := infer.NewUnpooled()
	r.ID, r.ModelName, r.Batch, r.TimeoutMicros = "x", "m", 1, uint64(timeout.Microseconds())
	defer r.Release()
	resp, err := a.Infer(ctx, r)
	if err == nil {
		resp.Release()
	}
	return err
}

func TestAdmissionServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, counters := startAdmission(t, 2)
		for range 20 {
			require.NoError(t, callWithin(t.Context(), a, ms), "nothing runs: it is tried")
		}
		var all sync.WaitGroup
		begin := time.Now()
		for range 5 { // one runs, two full batches wait
			all.Go(func() { require.NoError(t, callWithin(t.Context(), a, 0)) })
			synctest.Wait()
		}
		err := callWithin(t.Context(), a, 40*ms)
		require.EqualError(t, err, "[request id: x] Request cannot meet its deadline: it would be answered in about 44ms, and 40ms are left")
		require.Equal(t, status.Unavailable, status.CodeOf(err))
		ctx, cancel := context.WithTimeout(t.Context(), 43*ms)
		defer cancel()
		require.Error(t, callWithin(ctx, a, time.Second), "a deadline of the call counts too")
		r := infer.NewUnpooled()
		r.TimeoutMicros = 1
		require.Error(t, a.Submit(r))
		r.Release()
		r.Release()
		require.Zero(t, time.Since(begin), "at once")
		require.NoError(t, callWithin(t.Context(), a, 0), "a request without a deadline waits")
		all.Wait()
		c := counters.Counters()
		require.EqualValues(t, 3, c.Failures[stats.Rejected])
	})
}

// Added instances count from their first batch, removed ones no more.
func TestInstancesComeAndGo(t *testing.T) {
	t.Parallel()
	e := learnedEstimate(1, 1, simulate.Linear(10*ms, 0))
	finish := func() time.Duration {
		t.Helper()
		at, known := e.FinishTime(0, 4, 1)
		require.True(t, known)
		return time.Duration(at)
	}
	alone := finish()
	e.Add(2)
	require.Equal(t, alone, finish(), "it is being created")
	e.Started(2, &infer.Batch{Rows: 1}, 0)
	require.Less(t, finish(), alone)
	e.Remove(2)
	require.Equal(t, alone, finish())
	e.Remove(0)
	_, known := e.FinishTime(0, 4, 1)
	require.False(t, known)
}
