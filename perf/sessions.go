package perf

import (
	"fmt"
	"time"

	"triton/perf/load"
	"triton/pkg/client/lane"
)

// sessions are the sessions of the data, in mode Sessions.
type sessions struct {
	run   *run
	steps [][]int // of each session
}

// loadSessions groups the data. The number of its turns is that of the requests.
func (r *run) loadSessions() error {
	if _, ok := r.client.(Conversationalist); !ok {
		return ErrSessions
	}
	r.sessions = &sessions{r, r.set.Sessions()}
	want := int(r.settings.Range.Start)
	if n := len(r.sessions.steps); n < want {
		return fmt.Errorf("The input data file contains %d unique session IDs, which is fewer than the required session concurrency level of %d. Please add more unique session IDs to the file or lower the session concurrency level.", n, want)
	}
	for _, steps := range r.sessions.steps {
		for _, step := range steps[:len(steps)-1] {
			if !r.set.Turn(step).HasDelay {
				return fmt.Errorf("Missing 'delay' input for payload with index %d", step)
			}
		}
	}
	r.settings.RequestCount = len(r.set.Streams[0])
	return nil
}

// open returns all sessions, before their first turns.
func (s *sessions) open() []load.Session {
	target, _ := s.run.client.(Conversationalist) // loadSessions has checked it
	all := make([]load.Session, len(s.steps))
	for i, steps := range s.steps {
		all[i] = &session{run: s.run, left: steps, conversation: target.Converse()}
	}
	return all
}

// session is one session.
type session struct {
	run          *run
	conversation Conversation
	left         []int // steps that were not sent
	wait         time.Duration
	prepared     *lane.Prepared // of the request before
}

var _ load.Session = (*session)(nil)

// Next makes the request of the next turn.
func (s *session) Next(r *load.Request) (time.Duration, bool, error) {
	s.release()
	if len(s.left) == 0 {
		return 0, false, nil
	}
	step := s.left[0]
	s.left = s.left[1:]
	turn, err := s.run.set.Request(0, step, 1)
	if err != nil {
		return 0, false, err
	}
	req, err := s.conversation.Ask(turn)
	if err != nil {
		return 0, false, err
	}
	if s.prepared, err = s.run.client.Prepare(req); err != nil {
		return 0, false, err
	}
	place := s.run.set.Turn(step)
	place.AddTo(req)
	*r = load.Request{Prepared: s.prepared, Step: step, Sent: req}
	wait := s.wait
	s.wait = place.Delay
	return wait, true, nil
}

// Answered adds the answer to the conversation.
func (s *session) Answered(x *lane.Exchange) error { return s.conversation.Answer(x) }

func (s *session) release() {
	if s.prepared != nil {
		s.prepared.Release()
		s.prepared = nil
	}
}
