package instance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
)

// at returns placements of instances on the CPU.
func at(groups ...*inferencepb.ModelInstanceGroup) []backend.Placement {
	var all []backend.Placement
	for _, g := range groups {
		for range g.GetCount() {
			all = append(all, backend.Placement{Name: g.GetName(), Kind: g.GetKind(), Group: g})
		}
	}
	return all
}

func cpus(name string, n int32) *inferencepb.ModelInstanceGroup {
	return &inferencepb.ModelInstanceGroup{Name: name, Count: n, Kind: inferencepb.ModelInstanceGroup_KIND_CPU}
}

// A change of the instance groups creates the instances that are added and closes those that are
// superfluous. Which stay follows NVIDIA's server: names and the order of groups do not matter, devices,
// kinds and resources do.
func TestWhichInstancesStay(t *testing.T) {
	t.Parallel()
	limited := cpus("m", 1)
	limited.RateLimiter = &inferencepb.ModelRateLimiter{Resources: []*inferencepb.ModelRateLimiter_Resource{{Name: "R", Count: 2}}}
	gpu := func(device int) []backend.Placement {
		return []backend.Placement{{Kind: inferencepb.ModelInstanceGroup_KIND_GPU, Device: device}}
	}
	for name, c := range map[string]struct {
		before, after, passive []backend.Placement
		made, closed           int
	}{
		"more":           {at(cpus("m", 2)), at(cpus("m", 5)), nil, 3, 0},
		"fewer":          {at(cpus("m", 5)), at(cpus("m", 2)), nil, 0, 3},
		"the same":       {at(cpus("m", 2)), at(cpus("m", 2)), nil, 0, 0},
		"other names":    {at(cpus("a", 1), cpus("b", 2)), at(cpus("c", 3)), nil, 0, 0},
		"another device": {gpu(0), gpu(1), nil, 1, 1},
		"another kind":   {at(cpus("m", 1)), gpu(0), nil, 1, 1},
		"resources":      {at(cpus("m", 1)), at(limited), nil, 1, 1},
		"a passive one":  {at(cpus("m", 2)), at(cpus("m", 1)), at(cpus("m", 1)), 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var closed atomic.Int64
			m := &backendtest.Model{InstanceClosing: func() { closed.Add(1) }}
			g, _ := group(t, &inferencepb.ModelConfig{}, m, len(c.before), func(o *instance.Options) { o.Placements = c.before })
			made := m.Made()
			r, err := g.Prepare(t.Context(), c.after, c.passive)
			require.NoError(t, err)
			require.Equal(t, c.made, m.Made()-made)
			require.Zero(t, closed.Load(), "before the change is committed")
			r.Commit()
			r.Wait(t.Context())
			require.EqualValues(t, c.closed, closed.Load())
			require.Len(t, g.Instances(), len(c.after))
			for range 8 {
				require.NoError(t, call(t.Context(), g, request("a", 1)))
			}
			if back, err := g.Prepare(t.Context(), c.before, nil); err == nil { // slots are used again
				back.Commit()
				require.NoError(t, call(t.Context(), g, request("a", 1)))
			}
		})
	}
}

// A change that cannot be made, or is not wanted any more, leaves the group as it was.
func TestAChangeThatIsNotMade(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	m := &backendtest.Model{InstanceClosing: func() { closed.Add(1) }}
	m.Make = func(made int, _ backend.Placement) error {
		if made == 3 {
			return backendtest.ErrFault
		}
		return nil
	}
	var occupied, vacated atomic.Int64
	full := errors.New("full")
	g, _ := group(t, &inferencepb.ModelConfig{}, m, 2, func(o *instance.Options) {
		o.Occupy = func(slot int, _ backend.Placement) error {
			if slot > 3 {
				return full
			}
			occupied.Add(1)
			return nil
		}
		o.Vacate = func(int) { vacated.Add(1) }
	})
	_, err := g.Prepare(t.Context(), make([]backend.Placement, 4), nil)
	require.ErrorIs(t, err, backendtest.ErrFault)
	_, err = g.Prepare(t.Context(), make([]backend.Placement, 8), nil)
	require.ErrorIs(t, err, full)
	_, err = g.Prepare(t.Context(), nil, make([]backend.Placement, 1))
	require.ErrorContains(t, err, "passive instances only")
	require.Equal(t, occupied.Load(), vacated.Load())
	require.EqualValues(t, 1, closed.Load())
	require.Len(t, g.Instances(), 2)
	require.NoError(t, call(t.Context(), g, request("a", 1)))
}

// A change that is given up is discarded while the next one is prepared already: they share no slot.
func TestTheNextChangeBeforeTheDiscard(t *testing.T) {
	t.Parallel()
	var slots []int
	used := map[int]int{}
	m := &backendtest.Model{}
	g, _ := group(t, &inferencepb.ModelConfig{}, m, 1, func(o *instance.Options) {
		o.Occupy = func(slot int, _ backend.Placement) error {
			slots = append(slots, slot)
			used[slot]++
			return nil
		}
		o.Vacate = func(slot int) { used[slot]-- }
	})
	first, err := g.Prepare(t.Context(), make([]backend.Placement, 2), nil)
	require.NoError(t, err)
	second, err := g.Prepare(t.Context(), make([]backend.Placement, 3), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, slots)
	require.NoError(t, first.Discard())
	second.Commit()
	require.Equal(t, map[int]int{1: 0, 2: 1, 3: 1}, used)
	for range 8 {
		require.NoError(t, call(t.Context(), g, request("a", 1)))
	}
	third, err := g.Prepare(t.Context(), make([]backend.Placement, 4), nil)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 1}, slots, "its slot is used again")
	third.Commit()
}

// A drain that begins while instances are created comes first: the change is not made, its instances are
// closed, and nobody waits for those that it would have removed.
func TestAChangeAfterTheDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		m := &backendtest.Model{Own: true, InstanceClosing: func() { closed.Add(1) }}
		m.Run = func(_ context.Context, b *infer.Batch) error {
			time.Sleep(time.Minute)
			b.Requests[0].Respond(infer.NewResponse(), true)
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 2)
		var all sync.WaitGroup
		all.Go(func() { _ = call(t.Context(), g, request("a", 1)) })
		synctest.Wait()
		r, err := g.Prepare(t.Context(), []backend.Placement{{Kind: inferencepb.ModelInstanceGroup_KIND_MODEL}}, nil)
		require.NoError(t, err)
		all.Go(func() { _ = g.Drain(t.Context()) })
		synctest.Wait()
		r.Commit()
		require.EqualValues(t, 1, closed.Load())
		begin := time.Now()
		r.Wait(t.Context())
		require.Zero(t, time.Since(begin))
		require.Len(t, g.Instances(), 2)
		all.Wait()
		require.EqualValues(t, 3, closed.Load())
	})
}

// A removed instance closes when the batch that it runs and the requests that it keeps are over. An added
// one takes the waiting requests at once.
func TestARemovedInstanceFinishesItsWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		m := &backendtest.Model{Own: true, InstanceClosing: func() { closed.Add(1) }, Breaks: true}
		var kept *infer.Request
		m.Run = func(_ context.Context, b *infer.Batch) error {
			r := b.Requests[0]
			if r.ID == "kept" {
				kept = r
				r.Keep()
				return nil
			}
			time.Sleep(time.Second)
			r.Respond(infer.NewResponse(), true)
			return nil
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 1)
		submit := func(id string) *infertest.Sink {
			r, sink := request(id, 1), infertest.NewSink()
			r.Sink = sink
			require.NoError(t, g.Submit(r))
			r.Release()
			return sink
		}
		late, running, waiting := submit("kept"), submit("running"), submit("waiting")
		synctest.Wait()
		r, err := g.Prepare(t.Context(), []backend.Placement{{Kind: inferencepb.ModelInstanceGroup_KIND_MODEL}}, nil)
		require.NoError(t, err)
		r.Commit()
		require.Len(t, g.Instances(), 1)
		synctest.Wait()
		require.Zero(t, running.Ends())
		time.Sleep(time.Second + time.Millisecond)
		require.Equal(t, 1, running.Ends())
		require.Equal(t, 1, waiting.Ends(), "the added instance ran it at the same time")
		require.Zero(t, closed.Load(), "a request is kept")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.Wait(ctx)
		require.Error(t, ctx.Err())
		kept.Respond(infer.NewResponse(), true)
		kept.LetGo()
		r.Wait(t.Context())
		require.EqualValues(t, 1, closed.Load())
		require.Equal(t, 1, late.Ends())
	})
}

// Broken instances are the first to go, and one that waits for its restart is not started again.
func TestBrokenInstancesGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &backendtest.Model{}
		m.RequestFault = func(r *infer.Request) backendtest.RequestFault {
			if r.ID == "break" {
				panic("enough")
			}
			return 0
		}
		g, _ := group(t, &inferencepb.ModelConfig{}, m, 2)
		require.Error(t, call(t.Context(), g, request("break", 1)))
		synctest.Wait()
		r, err := g.Prepare(t.Context(), make([]backend.Placement, 1), nil)
		require.NoError(t, err)
		r.Commit()
		r.Wait(t.Context())
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, m.Made())
		require.Equal(t, instance.Ready, g.Instances()[0].State)
		require.NoError(t, call(t.Context(), g, request("a", 1)))
	})
}

// Instances come and go while requests of all kinds run: none is lost, and nothing is left.
func TestResizeStress(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]bool{"any": false, "limited": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &stress{pool: tensor.NewPool()}
			s.group = stressGroup(t, batching(8, 0), 1, nil, limit)
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() { s.caller(uint64(i)) })
			}
			for _, n := range []int{3, 1, 4, 2, 1, 5, 1} {
				r, err := s.group.Prepare(t.Context(), make([]backend.Placement, n), nil)
				require.NoError(t, err)
				r.Commit()
				r.Wait(t.Context())
				for before := s.answered.Load(); s.answered.Load() < before+20; {
					time.Sleep(time.Millisecond)
				}
			}
			s.over.Store(true)
			all.Wait()
			require.Empty(t, s.wrong.Load())
			require.Zero(t, s.pool.Outstanding())
			require.Zero(t, s.failed.Load())
			require.Zero(t, s.unavailable.Load())
		})
	}
}
