package sequence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/infer"
)

// noteIDs is countdown that also records the ID in every execution of each request.
func noteIDs(ids map[string][]uint64, texts map[string]string) func(*harness) {
	return func(s *harness) {
		countdown(10*time.Millisecond, false)(s)
		run := s.run
		s.run = func(ctx context.Context, b *infer.Batch) error {
			for _, r := range b.Requests {
				if !r.Membership.Null {
					ids[r.ID] = append(ids[r.ID], r.SequenceID)
					texts[r.ID] = r.SequenceIDStr
				}
			}
			return run(ctx, b)
		}
	}
}

// Sequences that a client numbers from 1 and requests whose ID the server generates are all
// sequences of their own.
func TestGeneratedIDsAreUnique(t *testing.T) {
	t.Parallel()
	ids, texts := map[string][]uint64{}, map[string]string{}
	own := func(id uint64) func(*infer.Request) {
		return func(r *infer.Request) { r.SequenceID, r.SequenceStart, r.Priority = id, true, 3 }
	}
	play(t, iterative(direct(4, 0, 0)), func(s *harness) {
		s.send("A", own(1))
		s.send("B", plain(2))
		s.send("C", own(2))
		s.send("D", plain(4))
		s.at(1000)
		for _, id := range []string{"A", "B", "C", "D"} {
			require.Contains(t, s.answer(id), ": ok")
		}
		require.NotContains(t, s.mu.logged, "conflict")
		require.Empty(t, s.mu.logged)
	}, noteIDs(ids, texts))
	require.Equal(t, []uint64{1, 1, 1}, ids["A"])
	require.Equal(t, []uint64{2, 2, 2}, ids["C"])
	require.Len(t, ids["B"], 2)
	require.Len(t, ids["D"], 4)
	require.NotEqual(t, ids["B"][0], ids["D"][0])
	for _, name := range []string{"B", "D"} {
		for _, id := range ids[name] {
			require.Equal(t, ids[name][0], id, "the id stays that of the request")
			require.Greater(t, id, uint64(1)<<63)
			require.Greater(t, uint32(id), uint32(1)<<31, "also where the backend sees 32 bits of it")
		}
	}
}

// A client that sends a generated number still starts a sequence of its own.
func TestAGeneratedIDCannotBeJoined(t *testing.T) {
	t.Parallel()
	ids := map[string][]uint64{}
	play(t, iterative(direct(4, 0, 0)), func(s *harness) {
		s.send("A", plain(50))
		s.at(15)
		s.mu.Lock()
		made := ids["A"][0]
		s.mu.Unlock()
		err := s.submit(func() *infer.Request {
			r := s.request("B")
			r.SequenceID, r.Priority = made, 1
			return r
		}())
		require.ErrorContains(t, err, "must specify the START flag")
		s.at(1000)
		require.Equal(t, "500: ok", s.answer("A"))
		require.Empty(t, s.mu.logged)
	}, noteIDs(ids, map[string]string{}))
}

// The ids of two models, or of two loads of one, differ too.
func TestGeneratedIDsDifferBetweenModels(t *testing.T) {
	t.Parallel()
	seen := map[uint64]bool{}
	for range 3 {
		ids := map[string][]uint64{}
		play(t, iterative(direct(1, 0, 0)), func(s *harness) { s.send("A", plain(1)); s.at(100) }, noteIDs(ids, map[string]string{}))
		require.False(t, seen[ids["A"][0]])
		seen[ids["A"][0]] = true
	}
}

// A backend that wants the id as a text gets one.
func TestGeneratedTexts(t *testing.T) {
	t.Parallel()
	cfg := iterative(direct(2, 0, 0))
	cfg.GetSequenceBatching().ControlInput = []*inferencepb.ModelSequenceBatching_ControlInput{{
		Name: "CORRID",
		Control: []*inferencepb.ModelSequenceBatching_Control{{
			Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID, DataType: inferencepb.DataType_TYPE_STRING,
		}},
	}}
	ids, texts := map[string][]uint64{}, map[string]string{}
	play(t, cfg, func(s *harness) {
		s.send("A B", plain(1))
		s.at(1000)
		require.Contains(t, s.answer("A"), ": ok")
		require.Contains(t, s.answer("B"), ": ok")
	}, noteIDs(ids, texts))
	require.NotEmpty(t, texts["A"])
	require.NotEmpty(t, texts["B"])
	require.NotEqual(t, texts["A"], texts["B"])
	require.Equal(t, []uint64{0}, ids["A"])
}
