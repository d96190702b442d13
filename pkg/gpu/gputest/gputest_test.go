package gputest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/gpu"
	"triton/pkg/gpu/gputest"
)

const mib = gputest.MiB

const first = "GPU-00000000-0000-0000-0000-000000000000"

func start(t *testing.T, s *gputest.Simulator, uuid string, law gputest.Law) *gputest.Server {
	t.Helper()
	v, err := s.Start(uuid, 100, law)
	require.NoError(t, err)
	return v
}

func used(t *testing.T, s *gputest.Simulator, uuid string) uint64 {
	t.Helper()
	m, err := s.Open()
	require.NoError(t, err)
	r := m.Read(gpu.Device{UUID: uuid})
	require.True(t, r.MemoryUsed.Known)
	return r.MemoryUsed.Value / mib
}

func law() gputest.Law {
	return gputest.Law{
		Base: 500 * mib, BackendOnce: 100 * mib, Shared: 300 * mib, PerInstance: 200 * mib, Queued: mib,
		Activation: func(batch int) uint64 { return uint64(batch) * 10 * mib },
	}
}

// TestLaw: the memory is B + F + S + k(W + A(b)) + Q max(0, c - kb).
func TestLaw(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{})
	v := start(t, s, first, law())
	require.Equal(t, uint64(500), used(t, s, first))
	require.NoError(t, v.Load(1))
	require.Equal(t, uint64(1000), used(t, s, first))
	done, err := v.Run(8, 20)
	require.NoError(t, err)
	require.Equal(t, uint64(1000+100+80+12), used(t, s, first))
	done()
	require.Equal(t, uint64(1100), used(t, s, first))
	require.NoError(t, v.Load(3))
	done, err = v.Run(8, 20)
	require.NoError(t, err)
	require.Equal(t, uint64(1500+3*80), used(t, s, first), "nothing waits")
	require.Equal(t, uint64(1740*mib), v.Allocated())
	done()
	v.Stop()
	require.Zero(t, used(t, s, first))
	require.Equal(t, uint64(1740*mib), v.Peak())
}

func TestArenaGrowthAndLeak(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{})
	l := law()
	l.Arena, l.Growth, l.Leak = true, 3*mib, 7*mib
	v := start(t, s, first, l)
	require.NoError(t, v.Load(2))
	for i, want := range []uint64{1200 + 100 + 2*128, 1200 + 100 + 2*128, 1200 + 100 + 2*256} {
		done, err := v.Run([]int{10, 1, 20}[i], 1)
		require.NoError(t, err)
		done()
		require.Equal(t, want+3*uint64(i+1), used(t, s, first), "an arena never shrinks")
	}
	v.Stop()
	require.Equal(t, uint64(7), used(t, s, first))
}

func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{Total: 1000 * mib, Reserved: 50 * mib})
	v := start(t, s, first, law())
	require.ErrorIs(t, v.Load(1), gputest.ErrOutOfMemory, "500 and 300 fit, and 200 more do not")
	require.Equal(t, uint64(800), used(t, s, first))
	v.Stop()

	l := law()
	l.OOM = gputest.NearMiss
	v = start(t, s, first, l)
	require.NoError(t, v.Load(1))
	_, err := v.Run(8, 8)
	require.NoError(t, err)
	require.Equal(t, uint64(950), used(t, s, first), "full, but nothing failed")
}

// TestDelay: an allocation becomes visible in four steps.
func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := gputest.New(1, gputest.GPU{View: gputest.Visibility{Delay: 400 * time.Millisecond}})
		start(t, s, first, law())
		for _, want := range []uint64{0, 125, 250, 375, 500, 500} {
			require.Equal(t, want, used(t, s, first))
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// TestShortPeak: a peak between two readings is seen by accounting alone.
func TestShortPeak(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := gputest.New(1, gputest.GPU{Accounting: true})
		l := law()
		l.PeakFor = 5 * time.Millisecond
		v := start(t, s, first, l)
		require.NoError(t, v.Load(1))
		done, err := v.Run(8, 8)
		require.NoError(t, err)
		require.Equal(t, uint64(1180), used(t, s, first))
		time.Sleep(5 * time.Millisecond)
		require.Equal(t, uint64(1100), used(t, s, first))
		done()
		m, err := s.Open()
		require.NoError(t, err)
		peak, err := m.Peak(gpu.Device{UUID: first}, 100)
		require.NoError(t, err)
		require.Equal(t, uint64(1180*mib), peak)
	})
}

// TestNoise: readings are off by at most the noise, the same for the same seed.
func TestNoise(t *testing.T) {
	t.Parallel()
	read := func(seed uint64) (all []uint64) {
		s := gputest.New(seed, gputest.GPU{View: gputest.Visibility{Noise: 16 * mib}})
		start(t, s, first, law())
		for range 100 {
			all = append(all, used(t, s, first))
		}
		return all
	}
	a := read(1)
	require.Equal(t, a, read(1))
	require.NotEqual(t, a, read(2))
	for _, v := range a {
		require.InDelta(t, 500, v, 16)
	}
}

// TestSharedInstanceMemory: the MIG devices of one GPU instance have the same memory, those of
// another have their own.
func TestSharedInstanceMemory(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{MIG: &gputest.MIG{Instances: []gputest.Instance{
		{UUID: "MIG-a", GPUInstance: 1, MemoryMB: 1000}, {}, {UUID: "MIG-b", GPUInstance: 2, MemoryMB: 4000},
		{UUID: "MIG-c", GPUInstance: 1, ComputeInstance: 1, MemoryMB: 1000},
	}}})
	start(t, s, "MIG-a", law())
	require.Equal(t, uint64(500), used(t, s, "MIG-c"))
	require.Zero(t, used(t, s, "MIG-b"))
	require.Equal(t, uint64(500), used(t, s, first), "the GPU's is the sum")
	_, err := s.Start("MIG-c", 101, gputest.Law{Base: 600 * mib})
	require.ErrorIs(t, err, gputest.ErrOutOfMemory)
	_, err = s.Start("MIG-none", 102, law())
	require.ErrorContains(t, err, "no device has UUID")
}

// TestNothingBeforeInit: the simulator is as strict as the real library.
func TestNothingBeforeInit(t *testing.T) {
	t.Parallel()
	s := gputest.New(1, gputest.GPU{})
	require.Panics(t, func() { s.DeviceCount() })
	m, err := s.Open()
	require.NoError(t, err)
	require.NoError(t, m.Close())
	require.Panics(t, func() { m.Read(gpu.Device{UUID: first}) })
}
