package sequence

import (
	"fmt"

	"triton/server/infer"
)

// prepare gives the requests of a batch what the engine sees beside the clients'
// inputs; without memory for that the batch is refused. Whoever holds the seat
// calls it.
func (s *Source) prepare(b *bench) {
	var pattern *infer.Request
	nulls := false
	for _, r := range b.seat.Batch.Requests {
		if r.Member.Null {
			nulls = true
			continue
		}
		if pattern == nil {
			pattern = r
		}
		q := r.Member.Of.(*sequence)
		s.controls.give(r, q.corrid)
		s.remember(b, q, r)
	}
	if !nulls {
		return
	}
	for _, r := range b.seat.Batch.Requests {
		if !r.Member.Null {
			continue
		}
		if err := s.blank(b, r, pattern); err != nil {
			b.seat.Batch.Refused = err
			return
		}
		s.controls.giveNull(r)
		if states := pattern.Member.Of.(*sequence).states; states != nil {
			states.GiveNull(r)
		}
	}
}

// remember gives a request the states of its sequence: new ones for its first
// request here, and for every one that starts the sequence anew.
func (s *Source) remember(b *bench, q *sequence, r *infer.Request) {
	if s.memory == nil {
		return
	}
	if q.states == nil || r.SequenceStart {
		if q.states != nil {
			q.states.Close()
		}
		var err error
		if q.states, err = s.memory.Begin(b.seat.Index); err != nil {
			q.states = nil
			s.log.Error(fmt.Sprintf("Failed to initialize sequence state: %s", err))
			return
		}
	}
	q.states.Give(r)
}

// fit says whether two requests can share a batch as far as their states go.
func (s *Source) fit(a, b *infer.Request) bool {
	return s.memory == nil || s.memory.Fit(given(a), given(b))
}

// given is the states that a request that waits will get; nil for new ones.
func given(r *infer.Request) States {
	if r.SequenceStart {
		return nil
	}
	return r.Member.Of.(*sequence).states
}
