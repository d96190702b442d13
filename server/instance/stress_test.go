package instance_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/backend"
	"triton/server/backend/builtin"
	"triton/server/infer"
	"triton/server/infer/infertest"
	"triton/server/instance"
	"triton/server/scheduler"
)

// Callers that leave, backends that fail, refuse, forget and panic, and a drain
// in the middle: every request gets one answer with the right bytes, and all memory is
// released.
func TestStress(t *testing.T) {
	for _, c := range []struct {
		name      string
		cfg       *inferencepb.ModelConfig
		instances int
		faults    map[string]string
		limited   bool // the instances share resources for two
	}{
		{"direct", &inferencepb.ModelConfig{MaxBatchSize: 8}, 1, nil, false},
		{"direct, faults", &inferencepb.ModelConfig{MaxBatchSize: 8}, 3, map[string]string{"fail": "7", "refuse": "11", "silent": "13", "twice": "5"}, false},
		{"batching", batching(8, 0), 2, nil, false},
		{"batching, delay, faults", batching(8, 200*time.Microsecond, 4), 2, map[string]string{"fail": "7", "refuse": "11", "silent": "13", "twice": "5"}, false},
		{"dying", batching(8, 100*time.Microsecond), 3, map[string]string{"panic": "60"}, false},
		{"limited", limited(batching(8, 100*time.Microsecond), 4), 2, nil, false},
		{"policies", policied(), 2, nil, false},
		{"policies, faults", policied(), 2, map[string]string{"fail": "7", "refuse": "11", "silent": "13", "twice": "5"}, false},
		{"ordered, faults", ordered(8), 3, map[string]string{"fail": "7", "refuse": "11", "silent": "13", "twice": "5"}, false},
		{"ordered, dying", ordered(8), 3, map[string]string{"panic": "60"}, false},
		{"limited", batching(8, 100*time.Microsecond, 4), 3, nil, true},
		{"limited, policies, faults", policied(), 3, map[string]string{"fail": "7", "refuse": "11", "silent": "13", "twice": "5"}, true},
		{"limited, ordered, dying", ordered(8), 3, map[string]string{"panic": "60"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			pool := tensor.NewPool()
			g := stressGroup(t, c.cfg, c.instances, c.faults, c.limited)
			s := &stress{pool: pool, group: g}
			var all sync.WaitGroup
			for i := range 16 {
				all.Go(func() { s.caller(uint64(i)) })
			}
			for begin := time.Now(); s.answered.Load() == 0 || time.Since(begin) < 100*time.Millisecond; {
				time.Sleep(time.Millisecond) // of load; the drain comes in the middle of it
			}
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if c.limited { // what waits for one is not waited for
				ended, cancel := context.WithCancel(ctx)
				cancel()
				_ = g.Drain(ended) // an error, unless all was over
			}
			require.NoError(t, g.Drain(ctx))
			s.over.Store(true)
			all.Wait()
			require.Empty(t, s.wrong.Load())
			require.Zero(t, pool.Outstanding())
			require.NotZero(t, s.answered.Load())
			t.Logf("answered %d, failed %d, cancelled %d, unavailable %d", s.answered.Load(), s.failed.Load(), s.cancelled.Load(), s.unavailable.Load())
		})
	}
}

func limited(cfg *inferencepb.ModelConfig, n uint32) *inferencepb.ModelConfig {
	cfg.GetDynamicBatching().DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{MaxQueueSize: n}
	return cfg
}

// policied has levels with timeouts of both actions, and limits.
func policied() *inferencepb.ModelConfig {
	return with(batching(8, 100*time.Microsecond, 4), func(d *inferencepb.ModelDynamicBatching) {
		d.PriorityLevels, d.DefaultPriorityLevel = math.MaxUint64, 3
		d.DefaultQueuePolicy = &inferencepb.ModelQueuePolicy{DefaultTimeoutMicroseconds: 150, AllowTimeoutOverride: true, MaxQueueSize: 6}
		d.PriorityQueuePolicy = map[uint64]*inferencepb.ModelQueuePolicy{
			1: {DefaultTimeoutMicroseconds: 50, TimeoutAction: inferencepb.ModelQueuePolicy_DELAY, MaxQueueSize: 3},
			2: {DefaultTimeoutMicroseconds: 100, TimeoutAction: inferencepb.ModelQueuePolicy_DELAY, AllowTimeoutOverride: true},
		}
	})
}

func stressGroup(t *testing.T, cfg *inferencepb.ModelConfig, instances int, faults map[string]string, limited bool) *instance.Group {
	cfg.Input = []*inferencepb.ModelInput{{Name: "INPUT0", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{-1}}}
	cfg.Output = []*inferencepb.ModelOutput{{Name: "OUTPUT0", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{-1}}}
	cfg.Parameters = map[string]*inferencepb.ModelParameter{}
	for name, value := range faults {
		cfg.Parameters[name] = &inferencepb.ModelParameter{StringValue: value}
	}
	m, err := builtin.Fault{}.Load(t.Context(), backend.Spec{Config: cfg, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	var gate scheduler.Gate
	var shared *scheduler.RateGate
	half := scheduler.LimitedInstance{Needs: []scheduler.ResourceNeed{{Name: "R", Count: 1}}}
	if limited {
		shared, err = scheduler.NewRateLimiter([]scheduler.Resource{{Name: "R", Count: 2, Device: scheduler.AllDevices}}).Add(slices.Repeat([]scheduler.LimitedInstance{half}, instances))
		require.NoError(t, err)
		gate = shared
	}
	g, _ := group(t, cfg, m, instances, func(o *instance.Options) {
		if limited {
			o.Occupy = func(slot int, _ backend.Placement) error { return shared.Add(slot, half) }
			o.Vacate = shared.Remove
		}
		o.Source, o.Slots = queue(cfg, instances, o.Stats, scheduler.NewPreciseAlarm(), func(o *scheduler.Options) { o.Gate = gate })
	})
	return g
}

type stress struct {
	pool                                     *tensor.Pool
	group                                    *instance.Group
	over                                     atomic.Bool
	answered, failed, cancelled, unavailable atomic.Int64
	wrong                                    atomic.Value
}

func (s *stress) caller(seed uint64) {
	rng := rand.New(rand.NewPCG(1, seed))
	s.wrong.CompareAndSwap(nil, "")
	for n := 0; !s.over.Load(); n++ {
		if rng.IntN(4) == 0 {
			s.submit(rng, n)
		} else {
			s.call(rng, n)
		}
	}
}

func (s *stress) request(rng *rand.Rand, n int) (*infer.Request, []byte) {
	r := infer.NewRequest()
	r.ID, r.ModelName, r.Batch = fmt.Sprint(n), "m", 1+rng.IntN(3)
	r.Priority, r.TimeoutMicros = rng.Uint64N(6), rng.Uint64N(300)
	in := r.AddInput()
	in.Name, in.DataType = "INPUT0", tensor.Uint8
	width := 1 + rng.IntN(3)
	in.Shape = append(in.Shape, int64(r.Batch), int64(width))
	buf := s.pool.Get(r.Batch * width)
	for i := range buf.Bytes() {
		buf.Bytes()[i] = byte(rng.Uint32())
	}
	want := bytes.Clone(buf.Bytes())
	in.Data = tensor.NewData(buf)
	return r, want
}

func (s *stress) call(rng *rand.Rand, n int) {
	r, want := s.request(rng, n)
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if rng.IntN(3) == 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rng.IntN(300))*time.Microsecond)
	}
	defer cancel()
	resp, err := s.group.Infer(ctx, r)
	if err == nil {
		s.check(resp, want, fmt.Sprint(n))
		resp.Release()
	} else {
		s.tally(err)
	}
	r.Release()
}

func (s *stress) submit(rng *rand.Rand, n int) {
	r, want := s.request(rng, n)
	answer := make(chan error, 2)
	r.Sink = infertest.SinkFunc(func(resp *infer.Response, _ bool) {
		if resp.Err == nil {
			s.check(resp, want, fmt.Sprint(n))
		}
		answer <- resp.Err
		resp.Release()
	})
	if err := s.group.Submit(r); err != nil {
		s.tally(err)
		r.Release()
		r.Release()
		return
	}
	if rng.IntN(3) == 0 {
		r.Cancel()
	}
	if err := <-answer; err != nil {
		s.tally(err)
	}
	r.Release()
	if len(answer) != 0 {
		s.wrong.Store("a request was answered twice")
	}
}

func (s *stress) check(resp *infer.Response, want []byte, id string) {
	s.answered.Add(1)
	out := resp.Output("OUTPUT0")
	if out == nil || resp.ID != id {
		s.wrong.Store(fmt.Sprintf("request %s got an answer for %s", id, resp.ID))
		return
	}
	if got, ok := out.Data.Contiguous(); !ok || !bytes.Equal(got, want) {
		s.wrong.Store(fmt.Sprintf("request %s: got %v, want %v", id, got, want))
	}
}

func (s *stress) tally(err error) {
	switch status.CodeOf(err) {
	case status.Cancelled:
		s.cancelled.Add(1)
	case status.Unavailable:
		s.unavailable.Add(1)
	case status.Internal, status.InvalidArg:
		s.failed.Add(1)
	default:
		s.wrong.Store(err.Error())
	}
}
