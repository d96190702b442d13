package footprint_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/analyzer/memory/footprint"
	"triton/analyzer/memory/meter"
	"triton/analyzer/trial"
	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
)

const mib = gputest.MiB

// simulated is a model on a simulated device whose law is known.
type simulated struct {
	kind    string
	sim     *gputest.Simulator
	meter   *meter.DeviceMeter
	uuid    string
	law     gputest.Law
	pid     int
	varies  float64 // standard deviation of a server's base, in bytes
	scale   int     // instances that raise the throughput; 0: all do
	random  *rand.Rand
	servers int
}

func (s *simulated) Room(context.Context) (map[footprint.Place]footprint.Room, error) {
	rooms := make(map[footprint.Place]footprint.Room)
	for _, r := range s.meter.Rooms() {
		rooms[footprint.Place(r.UUID)] = footprint.Room{Total: r.Total, Usable: r.Usable, Origin: "free"}
	}
	return rooms, nil
}

func (s *simulated) Start(_ context.Context, instances int) (footprint.Server, error) {
	s.pid++
	s.servers++
	law := s.law
	law.Base = uint64(float64(law.Base) + s.varies*s.random.NormFloat64())
	v, err := s.sim.Start(s.uuid, s.pid, law)
	if err != nil {
		return nil, lack(trial.OutOfGPUMemoryAtLoad, err)
	}
	if err := v.Load(instances); err != nil {
		v.Stop()
		return nil, lack(trial.OutOfGPUMemoryAtLoad, err)
	}
	time.Sleep(time.Second)
	return &simulatedServer{s, v, s.pid, instances, 0}, nil
}

func lack(class trial.Class, err error) error {
	if errors.Is(err, gputest.ErrOutOfMemory) {
		return &footprint.Failure{Class: class, Err: err}
	}
	return err
}

type simulatedServer struct {
	s         *simulated
	v         *gputest.Server
	pid       int
	instances int
	peak      uint64
}

func (v *simulatedServer) Memory() (footprint.Reading, error) {
	r := footprint.Reading{}
	for uuid, bytes := range v.s.meter.Read([]int{v.pid}) {
		r[footprint.Place(uuid)] = bytes
	}
	for uuid, bytes := range v.s.meter.Peaks([]int{v.pid}) {
		r[footprint.Place(uuid)] = max(r[footprint.Place(uuid)], bytes)
	}
	return r, nil
}

func (v *simulatedServer) run(batch int, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		done, err := v.v.Run(batch, 2*v.instances*batch)
		if err != nil {
			return lack(trial.OutOfGPUMemoryAtRun, err)
		}
		time.Sleep(500 * time.Millisecond)
		done()
	}
	return nil
}

func (v *simulatedServer) Warm(context.Context) (footprint.Proof, error) {
	return footprint.Counted, v.run(1, time.Second)
}

func (v *simulatedServer) Stress(_ context.Context, batch int) error {
	return v.run(batch, 3*time.Second)
}

func (v *simulatedServer) Work(context.Context) (footprint.Work, error) {
	busy := v.instances
	if v.s.scale > 0 {
		busy = min(busy, v.s.scale)
	}
	noise := 1 + 0.01*v.s.random.NormFloat64()
	return footprint.Work{Throughput: 100 * float64(busy) * noise}, v.run(batch, time.Second)
}

func (v *simulatedServer) Close() error {
	v.v.Stop()
	return nil
}

// perInstance is what an instance takes at a batch, and base what the server does at none.
func (s *simulated) perInstance(batch int) uint64 {
	active := s.law.Activation(batch)
	if s.law.Arena {
		rounded := uint64(1)
		for rounded < active {
			rounded *= 2
		}
		active = rounded
	}
	return s.law.PerInstance + active + uint64(batch)*s.law.Queued
}

func (s *simulated) base() uint64 { return s.law.Base + s.law.BackendOnce + s.law.Shared }

// simulate returns a random case.
func simulate(t *testing.T, seed uint64) *simulated {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 14))
	between := func(low, high uint64) uint64 { return (low + r.Uint64N(high-low)) * mib }
	visible := gpu.Environment{}
	total := []uint64{16, 24, 40, 80}[r.IntN(4)] << 30
	g := gputest.GPU{Total: total, Reserved: between(200, 700)}
	s := &simulated{pid: 1000, random: r}
	s.kind = []string{"plain", "noise", "neighbors", "MIG", "arena", "growth", "leak", "accounting", "whole device", "delay"}[seed%10]
	each := between(1, 40)
	s.law = gputest.Law{
		Base: between(200, 700), BackendOnce: between(0, 400), Shared: between(0, 2000), PerInstance: between(40, 3000),
		Activation: func(batch int) uint64 { return each * uint64(batch) }, Queued: r.Uint64N(mib),
	}
	switch s.kind {
	case "noise":
		g.View.Noise, s.varies = between(1, 8), float64(between(1, 5))
	case "neighbors":
		g.Foreign = []gputest.Process{{PID: 5, Name: "other", Memory: between(100, 8000)}}
	case "MIG":
		half := total/2>>20 - 500
		g.MIG = &gputest.MIG{Instances: []gputest.Instance{
			{},
			{UUID: mig, GPUInstance: 1, MemoryMB: half, Slices: 3, ComputeSlices: 3, Multiprocessors: 42, Reserved: between(10, 60)},
			{UUID: "MIG-other", GPUInstance: 2, MemoryMB: half, Slices: 3, ComputeSlices: 3, Multiprocessors: 42},
		}}
		visible.Visible = new(mig)
	case "arena":
		s.law.Arena = true
	case "growth":
		s.law.Growth = between(20, 60)
	case "leak":
		s.law.Leak = between(100, 300)
	case "accounting":
		g.Accounting, s.law.PeakFor = true, 10*time.Millisecond
	case "whole device":
		g.View.Processes = gputest.ProcessesZero
	case "delay":
		g.View.Delay = 300 * time.Millisecond
	}
	s.sim = gputest.New(seed, g)
	m, err := gpu.New(s.sim, visible)
	require.NoError(t, err)
	s.meter, err = meter.NewDeviceMeter(m, nil)
	require.NoError(t, err)
	require.Len(t, s.meter.Rooms(), 1)
	s.uuid = s.meter.Rooms()[0].UUID
	return s
}

const (
	mig   = "MIG-00000000-0000-0000-0000-000000000001"
	batch = 8
)

// TestLawsOfSimulatedDevices analyzes 500 models of known law on simulated devices. The answer must
// never be more than the device holds; it must be within one of it in 99 of 100 cases, and the
// intervals of the cost of an instance must hold the truth in 95 of 100. A model whose memory keeps
// growing has no true count: that must be said.
func TestLawsOfSimulatedDevices(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: much computing in one goroutine")
	}
	const cases = 500
	near, counted, held, intervals, servers, predicted, safe := 0, 0, 0, 0, 0, 0, 0
	for seed := range uint64(cases) {
		synctest.Test(t, func(t *testing.T) {
			s := simulate(t, seed)
			c := footprint.DefaultConfig()
			c.Batches, c.MinGain, c.MaxRuns = []int{1, batch}, 0, 60
			r, err := footprint.Run(t.Context(), c, footprint.Deps{Subject: s})
			require.NoError(t, err, seed)
			name := fmt.Sprintf("seed %d, %s: %+v", seed, s.kind, r.Answer)
			usable := s.meter.Rooms()[0].Usable // with what leaked away
			bound := usable - footprint.DefaultHeadroom(usable)
			truth := int((bound - s.base()) / s.perInstance(batch))
			require.LessOrEqual(t, r.Answer.Memory, truth, name)
			require.LessOrEqual(t, r.Answer.Instances, truth, name)
			switch s.kind {
			case "growth", "leak":
				require.Equal(t, footprint.Uncertain, r.Answer.Status, name)
				return
			}
			if c.Verify = false; seed < cases/2 {
				s := simulate(t, seed)
				r, err := footprint.Run(t.Context(), c, footprint.Deps{Subject: s})
				require.NoError(t, err, seed)
				predicted++
				if r.Answer.Memory <= truth {
					safe++
				}
			}
			servers += s.servers
			counted++
			if r.Answer.Memory >= truth-1 {
				near++
			} else {
				t.Logf("%s: %d instances fit", name, truth)
			}
			for _, l := range r.Limits {
				if l.Law == nil {
					continue
				}
				intervals++
				if e, each := l.Law.PerInstance, float64(s.perInstance(batch)); e.Low <= each && each <= e.High {
					held++
				} else {
					t.Logf("%s: an instance takes %.1f MiB, not %.1f to %.1f", name, each/mib, e.Low/mib, e.High/mib)
				}
			}
		})
	}
	t.Logf("within one: %d of %d; intervals: %d of %d; %d servers", near, counted, held, intervals, servers)
	t.Logf("predicted without a run: %d of %d are not above the truth", safe, predicted)
	require.GreaterOrEqual(t, safe*100, predicted*99)
	require.GreaterOrEqual(t, near*100, counted*99)
	require.GreaterOrEqual(t, held*100, intervals*95)
	require.Greater(t, intervals, counted*9/10)
}
