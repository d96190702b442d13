package instance_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// both runs a test with callers that may run batches themselves and without.
func both(t *testing.T, f func(t *testing.T, change ...func(*instance.Options))) {
	t.Parallel()
	t.Run("inline", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { f(t) })
	})
	t.Run("handover", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) { f(t, handOver) })
	})
}

func code(err error) status.Code { return status.CodeOf(err) }

func TestDrainFinishesWhatWasAccepted(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := &backendtest.Model{Time: backendtest.Takes(time.Second), Begin: time.Now()}
		g, _ := group(t, batching(8, time.Hour), e, 2, change...)
		var all sync.WaitGroup
		all.Go(func() { require.NoError(t, call(context.Background(), g, request("full", 8))) })
		synctest.Wait()
		for range 3 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("waits an hour", 1))) })
			synctest.Wait()
		}
		require.NoError(t, g.Drain(context.Background()))
		require.Equal(t, time.Second, time.Since(e.Begin))
		require.Equal(t, []string{"0: 8", "0: 3"}, e.Rows())
		require.Equal(t, 3, e.Closed(), "two instances and the model")
		all.Wait()
		require.EqualError(t, call(context.Background(), g, request("", 1)),
			"[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests")
		require.NoError(t, g.Drain(context.Background()), "again")
		require.Equal(t, 3, e.Closed())
	})
}

func TestDrainGivesUp(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		e := &backendtest.Model{Begin: time.Now(), BatchFault: backendtest.Stuck.Always}
		g, _ := group(t, &inferencepb.ModelConfig{}, e, 1, change...)
		synctest.Wait()
		var all sync.WaitGroup
		all.Go(func() { require.ErrorIs(t, call(context.Background(), g, request("", 1)), context.Canceled) })
		synctest.Wait()
		all.Go(func() { require.Equal(t, status.Unavailable, code(call(context.Background(), g, request("", 1)))) })
		synctest.Wait()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		require.ErrorIs(t, g.Drain(ctx), context.DeadlineExceeded)
		all.Wait()
		require.NoError(t, g.Drain(context.Background()))
		require.Len(t, e.Rows(), 1)
	})
}

// The instances cannot be created again.
func TestAPanicTakesOneInstanceOut(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		panics := 1
		e := &backendtest.Model{Begin: time.Now(), Make: backendtest.AtMost(2), Run: func(context.Context, *infer.Batch) error {
			time.Sleep(time.Second)
			if panics > 0 {
				panics--
				panic("boom")
			}
			return nil
		}}
		g, counters := group(t, &inferencepb.ModelConfig{}, e, 2, change...)
		err := call(context.Background(), g, request("", 1))
		require.Equal(t, status.Internal, code(err))
		require.ErrorContains(t, err, "of model 'm' broke down during execution")
		require.NotContains(t, err.Error(), "boom", "what is inside stays inside")
		require.True(t, g.Ready())

		// One of two is left: two requests take two seconds.
		begin := time.Now()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { require.NoError(t, call(context.Background(), g, request("", 1))) })
		}
		all.Wait()
		require.Equal(t, 2*time.Second, time.Since(begin))

		panics = 1
		for i := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				err := call(context.Background(), g, request("", 1))
				require.Equal(t, []status.Code{status.Internal, status.Unavailable, status.Unavailable}[i], code(err))
			})
		}
		all.Wait()
		require.False(t, g.Ready())
		require.ErrorContains(t, call(context.Background(), g, request("7", 1)), "[request id: 7] model 'm' has no working instance left")
		c := counters.Counters()
		require.EqualValues(t, 2, c.Failures[stats.Backend])
		require.EqualValues(t, 2, c.Failures[stats.Other], "waiting when the last instance broke")
		require.EqualValues(t, 2, c.Executions)
	})
}

// Responses of a backend, and what the caller gets.
func TestAnswersOfABackend(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		model  *backendtest.Model
		want   string
		code   status.Code
		counts [2]uint64 // executions, failures of the backend
	}{
		"fails as a whole": {&backendtest.Model{Run: func(context.Context, *infer.Batch) error {
			return status.New(status.Unsupported, "cannot do that")
		}}, "cannot do that", status.Unsupported, [2]uint64{0, 1}},
		"refuses the request": {&backendtest.Model{Run: func(_ context.Context, b *infer.Batch) error {
			b.Requests[0].Fail(status.New(status.InvalidArg, "not this one"))
			return nil
		}}, "not this one", status.InvalidArg, [2]uint64{1, 1}},
		"answers without data": {
			&backendtest.Model{RequestFault: backendtest.Silent.Always}, "expected a single response, got 0", status.Internal, [2]uint64{1, 1},
		},
		"answers twice":          {&backendtest.Model{RequestFault: backendtest.Twice.Always}, "", status.Unknown, [2]uint64{1, 0}},
		"answers and then fails": {&backendtest.Model{BatchFault: backendtest.FailLast.Always}, "", status.Unknown, [2]uint64{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, counters := group(t, &inferencepb.ModelConfig{}, c.model, 1)
			err := call(context.Background(), g, request("", 1))
			if c.want == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.want)
				require.Equal(t, c.code, code(err))
			}
			got := counters.Counters()
			require.Equal(t, c.counts, [2]uint64{got.Executions, got.Failures[stats.Backend]})
		})
	}
}

// The reply is encoded without the memory of the inputs.
func TestInputsAreReleasedBeforeTheAnswer(t *testing.T) {
	both(t, func(t *testing.T, change ...func(*instance.Options)) {
		pool := tensor.NewPool()
		g, _ := group(t, &inferencepb.ModelConfig{}, &backendtest.Model{}, 1, change...)
		synctest.Wait()
		r := request("", 1)
		r.AddInput().Data = tensor.NewData(pool.Get(100))
		resp, err := g.Infer(context.Background(), r)
		require.NoError(t, err)
		require.Zero(t, pool.Outstanding())
		resp.Release()
		r.Release()
	})
}

func TestAnInstanceThatCannotBeMade(t *testing.T) {
	t.Parallel()
	m := &backendtest.Model{Make: func(_ int, at backend.Placement) error {
		if at.Name == "bad" {
			return errors.New("out of luck")
		}
		return nil
	}}
	source, slots := scheduler.NewQueue(scheduler.Options{Policy: scheduler.NoBatching{}, Slots: 3, Stats: stats.NewModel("m", "1", 0)})
	g := instance.New(instance.Options{
		Name: "m", Version: "1", Config: &inferencepb.ModelConfig{}, Model: m, Stats: stats.NewModel("m", "1", 0),
		Source: source, Slots: slots,
		Placements: []backend.Placement{{Name: "good_0"}, {Name: "good_1"}, {Name: "bad"}},
	})
	require.EqualError(t, g.Start(context.Background()), "out of luck")
	require.LessOrEqual(t, m.Closed(), 3, "the instances that were made, and the model")
	require.GreaterOrEqual(t, m.Closed(), 1)
}

func TestPlacements(t *testing.T) {
	t.Parallel()
	const (
		auto, gpu, cpu, model = inferencepb.ModelInstanceGroup_KIND_AUTO, inferencepb.ModelInstanceGroup_KIND_GPU,
			inferencepb.ModelInstanceGroup_KIND_CPU, inferencepb.ModelInstanceGroup_KIND_MODEL
	)
	place := func(name string, kind inferencepb.ModelInstanceGroup_Kind, device, of int) backend.Placement {
		return backend.Placement{Name: name, Kind: kind, Device: device, Instances: of}
	}
	for name, c := range map[string]struct {
		groups []*inferencepb.ModelInstanceGroup
		gpus   []int32
		want   []backend.Placement
		err    string
	}{
		"auto without a GPU": {[]*inferencepb.ModelInstanceGroup{{Kind: auto, Count: 1}}, nil, []backend.Placement{place("m_0_0", cpu, 0, 1)}, ""},
		"auto with GPUs":     {[]*inferencepb.ModelInstanceGroup{{Kind: auto, Count: 1}}, []int32{0, 1}, []backend.Placement{place("m_0_0", gpu, 0, 2), place("m_0_0", gpu, 1, 2)}, ""},
		"two groups": {
			[]*inferencepb.ModelInstanceGroup{{Kind: cpu, Count: 2, Name: "fast"}, {Kind: cpu, Count: 1}, {Kind: model}},
			nil,
			[]backend.Placement{place("fast_0", cpu, 0, 3), place("fast_1", cpu, 0, 3), place("m_1_0", cpu, 0, 3), place("m_2_0", model, 0, 1)},
			"",
		},
		"passive ones share nothing": {
			[]*inferencepb.ModelInstanceGroup{{Kind: cpu, Count: 2, Passive: true}, {Kind: cpu}},
			nil,
			[]backend.Placement{place("m_0_0", cpu, 0, 1), place("m_0_1", cpu, 0, 1), place("m_1_0", cpu, 0, 1)},
			"",
		},
		"chosen GPUs": {[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1, Gpus: []int32{3, 1}}}, []int32{0, 1, 2, 3}, []backend.Placement{place("m_0_0", gpu, 1, 2), place("m_0_0", gpu, 3, 2)}, ""},
		"no GPU": {
			[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1}},
			nil, nil,
			"instance group 'm_0' of model 'm': kind is KIND_GPU but this machine has no usable GPU; set kind: KIND_CPU to run on the CPU",
		},
		"ordinals with a gap": {
			[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1}, {Kind: gpu, Count: 1, Gpus: []int32{2}}},
			[]int32{0, 2},
			[]backend.Placement{place("m_0_0", gpu, 0, 3), place("m_0_0", gpu, 2, 3), place("m_1_0", gpu, 2, 3)},
			"",
		},
		"a GPU in the gap": {
			[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1, Gpus: []int32{1}}},
			[]int32{0, 2},
			nil,
			"instance group 'm_0' of model 'm': GPU 1 is requested but this process has [0 2]; set kind: KIND_CPU to run on the CPU",
		},
		"a negative GPU": {
			[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1, Gpus: []int32{-1}}},
			[]int32{0},
			nil,
			"instance group 'm_0' of model 'm': GPU -1 is requested but this process has [0]; set kind: KIND_CPU to run on the CPU",
		},
		"a GPU too many": {
			[]*inferencepb.ModelInstanceGroup{{Kind: gpu, Count: 1, Gpus: []int32{1}}},
			[]int32{0},
			nil,
			"instance group 'm_0' of model 'm': GPU 1 is requested but this process has [0]; set kind: KIND_CPU to run on the CPU",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := instance.Placements(&inferencepb.ModelConfig{Name: "m", InstanceGroup: c.groups}, c.gpus)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			for i := range got {
				require.Contains(t, c.groups, got[i].Group)
				got[i].Group = nil
			}
			require.Equal(t, c.want, got)
		})
	}
}

// A client that has its answer finds it in the statistics, and its inputs released.
func TestASubmittedRequestIsCountedBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	pool := tensor.NewPool()
	g, counters := group(t, &inferencepb.ModelConfig{}, &backendtest.Model{Begin: time.Now()}, 1)
	for n := range 100 {
		type seen struct {
			success uint64
			memory  int64
		}
		got := make(chan seen, 1)
		r := request("", 1)
		r.AddInput().Data = tensor.NewData(pool.Get(10))
		r.Sink = infertest.SinkFunc(func(resp *infer.Response, _ bool) {
			got <- seen{counters.Counters().Success.Count, pool.Outstanding()}
			resp.Release()
		})
		require.NoError(t, g.Submit(r))
		require.Equal(t, seen{uint64(n + 1), 0}, <-got)
		r.Release()
	}
}
