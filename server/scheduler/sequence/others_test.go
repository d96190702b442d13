package sequence_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/backend"
	"triton/server/infer"
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

// Sequences go on where they began while instances are added and removed. A removed instance leaves with
// its last sequence; new ones, and those of the backlog, take the others.
func TestInstancesComeAndGo(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]func() *inferencepb.ModelConfig{
		"direct": func() *inferencepb.ModelConfig { return direct(1, 0, 0) },
		"oldest": func() *inferencepb.ModelConfig { return oldest(1, 1, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var closed atomic.Int64
			play(t, cfg(), func(s *harness) {
				s.model.InstanceClosing = func() { closed.Add(1) }
				resize := func(n int, kind inferencepb.ModelInstanceGroup_Kind) {
					t.Helper()
					all := make([]backend.Placement, n)
					for i := range all {
						all[i].Kind = kind
					}
					r, err := s.group.Prepare(s.t.Context(), all, nil)
					require.NoError(t, err)
					r.Commit()
					synctest.Wait()
				}
				const same, other = inferencepb.ModelInstanceGroup_KIND_AUTO, inferencepb.ModelInstanceGroup_KIND_MODEL
				s.send("(A1 (B1 (C1 D1", func(r *infer.Request) { r.SequenceStart = true })
				s.at(10)
				require.Empty(t, s.answer("D1"), "three instances with a slot each")
				resize(4, same)
				s.at(20)
				require.Contains(t, s.answer("D1"), "ok", "the backlog takes the slot of the added instance")
				s.send("E1", func(r *infer.Request) { r.SequenceStart = true })
				resize(1, other)
				require.EqualValues(t, 0, closed.Load(), "all have a sequence")
				require.Equal(t, 1, s.source.Alive())
				s.at(30)
				require.Contains(t, s.answer("E1"), "ok")
				s.send("A2 B2 C2 D2 E2")
				s.at(40)
				for _, id := range []string{"A2", "B2", "C2", "D2", "E2"} {
					require.Contains(t, s.answer(id), "ok", id)
				}
				s.send("A3) B3)")
				s.at(50)
				require.EqualValues(t, 2, closed.Load())
				s.send("(F1)")
				s.at(60)
				require.Empty(t, s.answer("F1"), "the removed instances take no new sequence")
				s.send("C3) D3) E3)")
				s.at(70)
				require.EqualValues(t, 4, closed.Load())
				require.Contains(t, s.answer("F1"), "ok")
				resize(2, other)
				s.send("(G1 (H1 G2) H2)")
				s.at(80)
				require.Contains(t, s.answer("H2"), "ok")
				require.EqualValues(t, 4, closed.Load())
				require.EqualValues(t, 6, s.model.Made())
			}, taking(time.Millisecond), func(s *harness) { s.opts.Slots = 3 })
		})
	}
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
