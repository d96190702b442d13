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
		q := r.Membership.Sequence.(*sequence)
		s.controls.addTo(r, q.corrid)
		s.addStates(inst, q, r)
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

// addStates adds the states of q to a request of q. They are new for the first request of
// q that runs, and for every later request with START.
func (s *Source) addStates(inst *instance, q *sequence, r *infer.Request) {
	if s.stateStore == nil {
		return
	}
	if q.states == nil || r.SequenceStart {
		if q.states != nil {
			q.states.Close()
		}
		var err error
		if q.states, err = s.stateStore.NewStates(inst.instanceSlot.Index); err != nil {
			q.states = nil
			s.log.Error(fmt.Sprintf("Failed to initialize sequence state: %s", err))
			return
		}
	}
	q.states.AddTo(r)
}

// compatible reports whether two requests can share a batch as far as their states are
// concerned.
func (s *Source) compatible(a, b *infer.Request) bool {
	return s.stateStore == nil || s.stateStore.Compatible(statesOf(a), statesOf(b))
}

// statesOf returns the states that a waiting request will get; nil for new ones.
func statesOf(r *infer.Request) States {
	if r.SequenceStart {
		return nil
	}
	return r.Membership.Sequence.(*sequence).states
}
