package instance_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
)

// TestBursts answers every request after each of many short bursts. No later arrival wakes
// a slot that sleeps by mistake: only the timeout does, an hour later.
func TestBursts(t *testing.T) {
	t.Parallel()
	configs := map[string]func() *inferencepb.ModelConfig{
		"direct":   func() *inferencepb.ModelConfig { return &inferencepb.ModelConfig{} },
		"batching": func() *inferencepb.ModelConfig { return batching(3, 0) },
		"delay":    func() *inferencepb.ModelConfig { return batching(4, 2*time.Millisecond, 2) },
		"ordered":  func() *inferencepb.ModelConfig { return ordered(2) },
		"policies": policied,
	}
	for name, cfg := range configs {
		for seed := range uint64(8) {
			synctest.Test(t, func(t *testing.T) { bursts(t, rand.New(rand.NewPCG(seed, 1)), name, cfg(), seed%2 == 0) })
		}
	}
}

func bursts(t *testing.T, rng *rand.Rand, name string, cfg *inferencepb.ModelConfig, limited bool) {
	e := &backendtest.Model{Begin: time.Now(), Time: backendtest.Takes(time.Duration(rng.IntN(2000)) * time.Microsecond)}
	instances := 1 + rng.IntN(3)
	change := func(*scheduler.Options) {}
	if limited {
		change = limitInstances(t, rng, instances)
	}
	g, counters := group(t, cfg, e, instances, queued(change))
	for round := range 40 {
		var all sync.WaitGroup
		for range 1 + rng.IntN(12) {
			r := request("", 1)
			r.Priority, r.TimeoutMicros = rng.Uint64N(6), rng.Uint64N(3000)
			comes, leaves := time.Duration(rng.IntN(500))*time.Microsecond, time.Hour
			if rng.IntN(3) == 0 {
				leaves = time.Duration(rng.IntN(4000)) * time.Microsecond
			}
			all.Go(func() { comeAndGo(g, r, comes, leaves) })
		}
		begin := time.Now()
		all.Wait()
		require.Less(t, time.Since(begin), time.Minute, "%s, round %d", name, round)
		require.Zero(t, counters.Pending.Load(), "%s, round %d", name, round)
	}
}

// limited makes the instances share resources for one or two of them, with another model that is
// loaded and unloaded.
func limitInstances(t *testing.T, rng *rand.Rand, instances int) func(*scheduler.Options) {
	l := scheduler.NewRateLimiter([]scheduler.Resource{{Name: "R", Count: 2, Device: scheduler.AllDevices}})
	var all []scheduler.LimitedInstance
	for range instances {
		all = append(all, needs(uint32(rng.IntN(3)), scheduler.ResourceNeed{Name: "R", Count: uint64(1 + rng.IntN(2))}))
	}
	g, err := l.Add(all)
	require.NoError(t, err)
	other, err := l.Add([]scheduler.LimitedInstance{needs(1, scheduler.ResourceNeed{Name: "R", Count: 2})})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if other.Wait(ctx, 0) == nil {
				time.Sleep(time.Millisecond)
				other.Release(0, true)
			}
			time.Sleep(3 * time.Millisecond)
		}
	})
	t.Cleanup(func() {
		cancel()
		done.Wait()
	})
	return func(o *scheduler.Options) { o.Gate = g }
}

func comeAndGo(g *instance.Group, r *infer.Request, comes, leaves time.Duration) {
	time.Sleep(comes)
	ctx, cancel := context.WithTimeout(context.Background(), leaves)
	defer cancel()
	_ = call(ctx, g, r) // an answer or an error
}
