package instance_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/tensor"
	"triton/server/backend/backendtest"
	"triton/server/infer"
	"triton/server/infer/infertest"
)

// Streams whose clients leave, whose backend fails and dies, and a drain in the
// middle: every request ends once, no response follows, all memory is released.
func TestStreamStress(t *testing.T) {
	for _, cfg := range []*inferencepb.ModelConfig{{MaxBatchSize: 8}, batching(8, 0), batching(8, 200*time.Microsecond, 4)} {
		pool := tensor.NewPool()
		var ended, cancelled, other atomic.Int64
		var batches atomic.Int64
		e := &backendtest.Model{Begin: time.Now(), Own: true}
		e.Run = func(_ context.Context, b *infer.Batch) error {
			n := batches.Add(1)
			for k, r := range b.Requests {
				if n%17 == 0 && k > 0 {
					return errors.New("failed")
				}
				go func() {
					for range n % 5 {
						resp := infer.NewResponse()
						resp.Add("OUT", tensor.Uint8, tensor.Shape{8}, r.Inputs[0].Data.Clone())
						r.Respond(resp, false)
						if r.Cancelled() {
							break
						}
					}
					r.Respond(nil, true)
				}()
				if n%17 == 0 {
					// What has been handed out is answered; the rest is the core's.
					for !r.Ended() {
						time.Sleep(10 * time.Microsecond)
					}
				}
			}
			return nil
		}
		g, counters := group(t, decoupled(cfg), e, 2)
		var over atomic.Bool
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				rng := rand.New(rand.NewPCG(2, uint64(i)))
				for !over.Load() {
					r, p := infer.NewRequest(), infertest.NewSink()
					r.ModelName, r.Batch, r.Sink = "m", 1+rng.IntN(3), p
					followed := &follower{ended: make(chan struct{})}
					r.Trace = infertest.TraceFunc(followed.observe)
					in := r.AddInput()
					in.Data = tensor.NewData(pool.Get(8))
					if err := g.Submit(r); err != nil {
						r.Release()
						r.Release()
						other.Add(1)
						continue
					}
					if rng.IntN(3) == 0 {
						r.Cancel()
						cancelled.Add(1)
					}
					<-p.Done()
					ended.Add(1)
					r.Release()
					<-followed.ended
					if followed.responses > 4 || followed.batches > 1 {
						other.Add(1 << 32)
					}
				}
			})
		}
		for begin := time.Now(); ended.Load() == 0 || time.Since(begin) < 60*time.Millisecond; {
			time.Sleep(time.Millisecond) // of load; the drain comes in the middle of it
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		require.NoError(t, g.Drain(ctx))
		cancel()
		over.Store(true)
		all.Wait()
		require.NotZero(t, ended.Load())
		require.Zero(t, other.Load()>>32, "traces with events of other requests")
		require.Zero(t, pool.Outstanding())
		c := counters.Counters()
		require.EqualValues(t, ended.Load(), c.Success.Count+c.Fail.Count, "everybody is counted once")
		t.Logf("ended %d, of them cancelled %d; refused %d", ended.Load(), cancelled.Load(), other.Load())
	}
}

// follower counts the events of a trace without a lock: the race detector sees calls that
// overlap.
type follower struct {
	batches, responses int
	ended              chan struct{}
}

func (f *follower) observe(e infer.Event) {
	switch e.Kind {
	case infer.EventExecuted:
		f.batches++
	case infer.EventResponded:
		f.responses++
	case infer.EventEnded:
		close(f.ended)
	}
}
