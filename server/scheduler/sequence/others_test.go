package sequence_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/instance"
	"triton/server/scheduler/sequence"
)

// gate counts the grants of an instance.
type gate struct{ open, taken, ran atomic.Int64 }

func (g *gate) Acquire(int) bool {
	if g.taken.Add(1) > 1 && g.open.Load() == 1 {
		g.ran.Add(1) // in place of Release
		return true
	}
	g.open.Add(1)
	return true
}

func (g *gate) Release(_ int, ran bool) {
	if g.open.Add(-1); ran {
		g.ran.Add(1)
	}
}

func (*gate) Weight(int) uint64 { return 0 }
func (*gate) Abort()            {}

func TestGate(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]func() *harness{
		"direct": func() *harness { return &harness{cfg: direct(4, 0, 0)} },
		"oldest": func() *harness { return &harness{cfg: oldest(4, 4, 0)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := &gate{}
			s := play(t, cfg().cfg, func(s *harness) {
				s.send("(A1 A2 A3 A4 A5 A6 A7 A8 A9)")
				s.at(1000)
				require.Zero(t, g.open.Load(), "an instance without work holds no grant")
			}, taking(10*time.Millisecond), func(s *harness) { s.opts.Gate, s.opts.Slots = g, 2 })
			require.Equal(t, "{1:9}", s.sizes())
			require.EqualValues(t, 9, g.ran.Load())
		})
	}
}

// Sequences go on where they began when other instances take over.
func TestPreviousSource(t *testing.T) {
	t.Parallel()
	play(t, direct(2, 0, 0), func(s *harness) {
		s.send("(A1")
		old := s.group
		o := s.opts
		o.Previous = s.source
		var next instance.Options
		var err error
		s.source, next.Slots, err = sequence.New(o)
		require.NoError(t, err)
		next.Name, next.Version, next.Config, next.Model, next.Stats, next.Log = "m", "1", s.cfg, s.model, s.stats, o.Log
		next.Placements, next.Source = make([]backend.Placement, 1), s.source
		s.group = instance.New(next)
		require.NoError(t, s.group.Start(context.Background()))
		over := o.Previous.Stop()
		s.send("(B1 A2 A3)")
		require.EqualError(t, s.submit(s.request("C1")), "inference request for sequence 67 to model 'm' must specify the START flag on the first request of the sequence")
		<-over
		synctest.Wait()
		require.NoError(t, old.Drain(context.Background()))
		require.EqualError(t, s.submit(s.request("A4")), noStart)
		s.send("(A4) B2)")
		s.at(1)
		require.Equal(t, "0: ok", s.answer("A3"))
	})
}

// A sequence takes the slot with the lowest number over all instances.
func TestLowestSlot(t *testing.T) {
	t.Parallel()
	s := play(t, direct(2, 0, 0), func(s *harness) {
		s.send("(A1 (B1 (C1 (D1")
		synctest.Wait()
		require.ElementsMatch(t, []string{"A1 C1", "B1 D1"}, s.ran())
	}, held(4, 0), func(s *harness) { s.opts.Slots = 2 })
	require.Len(t, s.ran(), 2)
}
