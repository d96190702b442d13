package sequence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// TestABrokenInstanceLosesItsSequences breaks the instance of two sequences. Their waiting and
// later requests fail; when the instance is replaced, new sequences start on all its slots.
func TestABrokenInstanceLosesItsSequences(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]func() *inferencepb.ModelConfig{
		"direct": func() *inferencepb.ModelConfig { return direct(2, 0, 0) },
		"oldest": func() *inferencepb.ModelConfig { return oldest(2, 2, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, cfg(), func(s *harness) {
				s.send("(A1 (B1")
				s.at(5)
				s.run = func(context.Context, *infer.Batch) error {
					time.Sleep(10 * time.Millisecond)
					panic("enough")
				}
				s.send("A2 A3 (C1 C2)")
				s.at(20)
				require.Contains(t, s.answer("A2"), "broke down")
				require.Contains(t, s.answer("A3"), "the sequence has ended: its instance of model 'm' broke down")
				require.Contains(t, s.answer("C1"), "no working instance left")
				require.Zero(t, s.source.Alive())
				s.run = nil
				s.at(1000)
				require.Equal(t, 1, s.source.Alive())
				s.send("(D1 (E1 D2) E2) (F1)")
				s.at(1100)
				for _, id := range []string{"D1", "E1", "D2", "E2"} {
					require.Contains(t, s.answer(id), "ok", id)
				}
			})
		})
	}
}

// TestTheBacklogGoesOnWhenAnInstanceComesBack has two instances with one slot
// each, one of which breaks while a sequence waits for a slot.
func TestTheBacklogGoesOnWhenAnInstanceComesBack(t *testing.T) {
	t.Parallel()
	play(t, direct(1, 0, 0), func(s *harness) {
		s.send("(A1 (B1")
		s.at(5)
		s.run = func(_ context.Context, b *infer.Batch) error {
			if b.Requests[0].ID == "A2" {
				panic("enough")
			}
			b.Requests[0].Respond(infer.NewResponse(), true)
			return nil
		}
		s.send("(C1 A2")
		s.at(10)
		require.Contains(t, s.answer("A2"), "broke down")
		require.Equal(t, 1, s.source.Alive())
		require.Empty(t, s.answer("C1"), "it waits: B has the other slot")
		s.at(1000)
		require.Contains(t, s.answer("C1"), "ok", "the slot of A is C's when the instance is back")
		s.send("B2) C2)")
	}, func(s *harness) { s.opts.Slots = 2 })
}
