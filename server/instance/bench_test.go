package instance_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/invariant"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/instance"
	"triton/server/scheduler"
)

// burner is a backend that keeps its processor busy for a fixed time per batch and sends
// empty responses.
func burner(busy time.Duration) *backendtest.Model {
	if busy == 0 {
		return &backendtest.Model{}
	}
	return &backendtest.Model{Run: func(_ context.Context, b *infer.Batch) error {
		for end := b.InputEnd + int64(busy); infer.Now() < end; {
		}
		return nil
	}}
}

// handOver keeps batches off the goroutines of callers.
func handOver(o *instance.Options) {
	if o.Source == nil {
		o.Source, o.Slots = queue(o.Config, len(o.Placements), o.Stats, nil)
	}
	o.Source = handing{o.Source}
}

// handing is a source whose batches never run on callers.
type handing struct{ scheduler.Source }

func (h handing) Enqueue(r *infer.Request, _ bool) (*scheduler.Slot, error) {
	return h.Source.Enqueue(r, false)
}

// The way of a request through queue, instance and back: the budget is 2 us of
// processor time and no allocation beyond the pools. "inline" lets callers run
// batches themselves, "handover" is two goroutine switches for every request.
func BenchmarkInfer(b *testing.B) {
	direct, dynamic := &inferencepb.ModelConfig{}, batching(64, 0)
	for _, c := range []struct {
		name   string
		cfg    *inferencepb.ModelConfig
		busy   time.Duration
		change []func(*instance.Options)
	}{
		{"free/inline", direct, 0, nil},
		{"free/handover", direct, 0, []func(*instance.Options){handOver}},
		{"20us/inline", direct, 20 * time.Microsecond, nil},
		{"20us/handover", direct, 20 * time.Microsecond, []func(*instance.Options){handOver}},
		{"20us-batching/inline", dynamic, 20 * time.Microsecond, nil},
		{"20us-batching/handover", dynamic, 20 * time.Microsecond, []func(*instance.Options){handOver}},
	} {
		for _, callers := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", c.name, callers), func(b *testing.B) {
				g, _ := group(b, c.cfg, burner(c.busy), 1, c.change...)
				hammer(b, g, callers)
			})
		}
	}
}

// hammer makes b.N requests from that many callers and reports the processor
// time of one.
func hammer(b *testing.B, g *instance.Group, callers int) {
	b.ReportAllocs()
	before := cpu()
	b.ResetTimer()
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for range callers {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				r := infer.NewRequest()
				r.Batch = 1
				if err := call(ctx, g, r); err != nil {
					panic(err)
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(cpu()-before)/float64(b.N), "cpu-ns/op")
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestAllocations(t *testing.T) {
	if invariant.Enabled {
		t.Skip("the race detector makes sync.Pool forget on purpose")
	}
	for name, change := range map[string][]func(*instance.Options){"inline": nil, "queued": {handOver}} {
		t.Run(name, func(t *testing.T) {
			g, _ := group(t, batching(8, 0), burner(0), 1, change...)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			one := func() {
				r := infer.NewRequest()
				r.Batch = 1
				if err := call(ctx, g, r); err != nil {
					panic(err)
				}
			}
			one()
			// The pools lose an item now and then to the garbage collector.
			require.Less(t, testing.AllocsPerRun(2000, one), 0.1)
		})
	}
}

// The lateness of a batch whose delay has passed, on an otherwise idle machine.
func BenchmarkDelay(b *testing.B) {
	const delay = 100 * time.Microsecond
	for name, alarm := range map[string]func() scheduler.Alarm{"clock": scheduler.NewAlarm, "precise": scheduler.NewPreciseAlarm} {
		b.Run(name, func(b *testing.B) {
			cfg := batching(8, delay)
			g, counters := group(b, cfg, burner(0), 1, func(o *instance.Options) { o.Source, o.Slots = queue(cfg, 1, o.Stats, alarm()) })
			hammer(b, g, 1)
			queued := time.Duration(counters.Counters().Queue.Ns / uint64(b.N))
			b.ReportMetric(float64((queued - delay).Microseconds()), "late-us/op")
		})
	}
}
