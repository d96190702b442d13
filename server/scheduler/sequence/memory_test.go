package sequence_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/server/scheduler/sequence"
)

// stateful gives a model one state.
func stateful(s *harness) {
	s.cfg.GetSequenceBatching().State = []*inferencepb.ModelSequenceBatching_State{
		{InputName: "OLD", OutputName: "NEW", DataType: inferencepb.DataType_TYPE_UINT8, Dims: []int64{1}},
	}
	memory, err := sequence.NewImplicitStates(sequence.StateOptions{Config: s.cfg, Pool: s.pool, Log: s.opts.Log})
	require.NoError(s.t, err)
	s.opts.States = memory
}

// A request gets the state of the previous request, also when that is set long after the
// backend's call.
func TestTheNextRequestWaitsForTheState(t *testing.T) {
	t.Parallel()
	for _, states := range []bool{false, true} {
		t.Run(fmt.Sprint(states), func(t *testing.T) {
			t.Parallel()
			with, want := []func(*harness){late}, []string{"0: A1 B1", "0: A2 B2"}
			if states {
				with, want = append(with, stateful), []string{"0: A1 B1", "100: - B2", "300: A2"}
			}
			s := play(t, direct(4, 0, 0), func(s *harness) { s.send("(A1 A2) (B1 B2)") }, append(with, held(4, 0))...)
			require.Equal(t, want, s.batches())
		})
	}
}
