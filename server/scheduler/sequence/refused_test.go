package sequence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor/tensortest"
	"triton/server/infer"
)

// scarce gives a harness memory that a test can refuse.
func scarce(m *tensortest.Memory) func(*harness) {
	return func(s *harness) { s.pool, s.opts.Pool = m.Pool, m.Pool }
}

// named has a backend that wants the correlation id.
func named(d inferencepb.DataType) func(*harness) {
	return func(s *harness) {
		s.cfg.GetSequenceBatching().ControlInput = append(s.cfg.GetSequenceBatching().ControlInput, &inferencepb.ModelSequenceBatching_ControlInput{
			Name: "ID", Control: []*inferencepb.ModelSequenceBatching_Control{
				{Kind: inferencepb.ModelSequenceBatching_Control_CONTROL_SEQUENCE_CORRID, DataType: d},
			},
		})
	}
}

// A sequence that gets no memory for its correlation id does not begin; the
// others go on.
func TestNoMemoryForACorrelationID(t *testing.T) {
	t.Parallel()
	for _, d := range []inferencepb.DataType{inferencepb.DataType_TYPE_UINT64, inferencepb.DataType_TYPE_STRING} {
		m := tensortest.New(nil)
		id := func(r *infer.Request) {
			if d == inferencepb.DataType_TYPE_STRING {
				r.SequenceID, r.SequenceIDStr = 0, string(rune(r.SequenceID))
			}
		}
		s := play(t, direct(2, 0, 0), func(s *harness) {
			s.send("(A1", id)
			r := s.request("(B1)")
			id(r)
			m.Refuse(tensortest.Above(-1))
			err := s.submit(r)
			require.ErrorContains(t, err, "no memory for the correlation ID of a sequence of model 'm'")
			require.Equal(t, status.Unavailable, status.CodeOf(err))
			m.Refuse(nil)
			s.send("A2) (C1)", id)
		}, scarce(m), named(d))
		require.Equal(t, "ok", s.outcome("A2"))
		require.Equal(t, "ok", s.outcome("C1"))
		require.EqualValues(t, 1, m.Refused())
	}
}

// A batch whose empty rows get no memory fails; the sequence continues.
func TestNoMemoryForNullRequests(t *testing.T) {
	t.Parallel()
	m := tensortest.New(nil)
	s := play(t, direct(2, 0, 0), func(s *harness) {
		s.send("(A1 (B1")
		s.at(1000)
		r := s.request("B2") // in the second row; nothing is in the first
		s.input(r, 1000)     // larger than what empty rows had before
		m.Refuse(tensortest.Above(-1))
		require.NoError(t, s.submit(r))
		s.at(2000)
		m.Refuse(nil)
		s.send("B3) A2)")
	}, scarce(m))
	require.Equal(t, "no memory for the empty rows of a batch: the test refuses memory", s.outcome("B2"))
	require.Equal(t, "ok", s.outcome("B3"))
	require.Positive(t, m.Refused())
}
