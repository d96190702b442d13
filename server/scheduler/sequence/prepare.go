package sequence

import (
	"fmt"

	"triton/server/infer"
)

// prepare adds control inputs, states and the inputs of null requests to the requests of a
// batch. If there is no memory for them, it sets Batch.Refused. The holder of the instance
// slot calls it.
func (s *Source) prepare(inst *instance) {
	var pattern *infer.Request
	nulls := false
	for _, r := range inst.instanceSlot.Batch.Requests {
		if r.Membership.Null {
			nulls = true
			continue
		}
		if pattern == nil {
			pattern = r
		}
		seq := r.Membership.Sequence.(*sequence)
		s.controls.addTo(r, seq.corrid)
		s.addStates(inst, seq, r)
	}
	if !nulls {
		return
	}
	for _, r := range inst.instanceSlot.Batch.Requests {
		if !r.Membership.Null {
			continue
		}
		if err := s.addNullInputs(inst, r, pattern); err != nil {
			inst.instanceSlot.Batch.Refused = err
			return
		}
		s.controls.addNullTo(r)
		if states := pattern.Membership.Sequence.(*sequence).states; states != nil {
			states.AddNullTo(r)
		}
	}
}

// addStates adds the states of a sequence to one of its requests. They are new for the first
// request that runs, and for every later request with START.
func (s *Source) addStates(inst *instance, seq *sequence, r *infer.Request) {
	if s.implicit == nil {
		return
	}
	if seq.states == nil || r.SequenceStart {
		if seq.states != nil {
			seq.states.Close()
		}
		var err error
		if seq.states, err = s.implicit.NewStates(); err != nil {
			s.log.Error(fmt.Sprintf("Failed to initialize sequence state: %s", err))
			return
		}
	}
	seq.states.AddTo(r)
}

// compatible reports whether two requests can share a batch as far as their states are
// concerned.
func (s *Source) compatible(a, b *infer.Request) bool {
	return s.implicit == nil || s.implicit.Compatible(statesOf(a), statesOf(b))
}

// statesOf returns the states that a waiting request will get; nil for new ones.
func statesOf(r *infer.Request) *States {
	if r.SequenceStart {
		return nil
	}
	return r.Membership.Sequence.(*sequence).states
}
