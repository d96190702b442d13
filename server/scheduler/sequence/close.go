package sequence

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Stop refuses new sequences. Those that have begun go on; the channel is closed
// when they are over.
func (s *Source) Stop() <-chan struct{} {
	s.mu.Lock()
	defer s.unlock()
	s.mu.stopping = true
	if s.mu.over == nil {
		s.mu.over = make(chan struct{})
	}
	return s.mu.over
}

// Close also ends the sequences of which nothing waits or runs, and the others
// as soon as that is so. Then Next answers false.
func (s *Source) Close() {
	s.mu.Lock()
	s.mu.stopping, s.mu.closed = true, true
	s.mu.hold = hold{}
	for _, b := range s.benches {
		for _, l := range b.slots {
			s.settle(l)
		}
	}
	for _, b := range s.benches {
		s.check(b)
	}
	s.unlock()
}

// Abort answers everything that waits as Close answers new sequences, and no
// instance waits for its gate any more.
func (s *Source) Abort() {
	s.mu.Lock()
	s.mu.stopping, s.mu.closed, s.mu.aborted = true, true, true
	for q := s.mu.backlog.front; q != nil; q = s.mu.backlog.front {
		s.dismiss(q, errStopping, stats.Other)
	}
	for _, b := range s.benches {
		s.evict(b, errStopping, stats.Other)
		s.check(b)
	}
	s.unlock()
	if s.gate != nil {
		s.gate.Abort()
	}
}

// Free gives up timers and memory, once no goroutine uses the source any more.
func (s *Source) Free() {
	s.timer.Stop()
	for _, b := range s.benches {
		b.alarm.Close()
		b.free()
	}
	s.controls.free()
	if s.memory != nil {
		s.memory.Close()
	}
}

// errLost is the answer to what waits for an instance that broke down.
func errLost(r *infer.Request) error {
	return status.New(status.Unavailable, "%sthe sequence has ended: its instance of model '%s' broke down", r.Tag(), r.ModelName)
}
