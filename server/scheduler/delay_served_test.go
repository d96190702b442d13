package scheduler_test

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
	"triton/server/stats"
)

// TestCallers has a real queue and instance, and callers that send their next request when they
// have an answer. To wait for more requests than there are callers is useless, so the delay stays
// near zero for any target.
func TestCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := &inferencepb.ModelConfig{Name: "m", MaxBatchSize: 32, SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{
			DynamicBatching: &inferencepb.ModelDynamicBatching{},
		}}
		policy, counters := scheduler.NewDynamicBatching(cfg), stats.NewModel("m", "1", 32)
		source, slots := scheduler.NewQueue(scheduler.Options{Policy: policy, Slots: 1, Stats: counters})
		var delays []time.Duration
		controller := scheduler.NewDelayController(scheduler.DelayOptions{
			DelayGoal: scheduler.DelayGoal{Target: 50 * time.Millisecond, Limit: 50 * time.Millisecond},
			Set: func(d time.Duration) {
				policy.SetDelay(d)
				delays = append(delays, d)
			},
		})
		const fixed, perRow = time.Millisecond, 50 * time.Microsecond
		m := &backendtest.Model{Time: func(rows int) time.Duration { return fixed + time.Duration(rows)*perRow }}
		g := instance.New(instance.Options{
			Name: "m", Version: "1", Config: cfg, Model: m, Placements: make([]backend.Placement, 1),
			Source: source, Slots: slots, Stats: counters, Log: slog.New(slog.DiscardHandler), Observer: controller,
		})
		require.NoError(t, g.Start(t.Context()))
		var mu sync.Mutex
		var took []time.Duration
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5000 {
					begin := time.Now()
					r := infer.NewUnpooled()
					r.Batch = 1
					resp, err := g.Infer(t.Context(), r)
					if err != nil {
						panic(err)
					}
					resp.Release()
					r.Release()
					mu.Lock()
					took = append(took, time.Since(begin))
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.NoError(t, g.Drain(t.Context()))
		late := took[len(took)/2:]
		slices.Sort(late)
		require.Less(t, late[len(late)*9/10], 5*time.Millisecond, "delays %v", delays)
		require.Greater(t, len(delays), 2, "it was tried")
	})
}
