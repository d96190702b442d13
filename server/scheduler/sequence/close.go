package sequence

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Stop refuses new sequences. Open sequences may finish; the returned channel is closed
// when they have.
func (s *Source) Stop() <-chan struct{} {
	s.mu.Lock()
	defer s.unlock()
	s.mu.stopping = true
	if s.mu.drained == nil {
		s.mu.drained = make(chan struct{})
	}
	return s.mu.drained
}

// Close refuses new sequences and ends each open one as soon as it has no waiting or
// running request. When all have ended, Next returns false.
func (s *Source) Close() {
	s.mu.Lock()
	s.mu.stopping, s.mu.closed = true, true
	s.mu.hold = hold{}
	for _, inst := range s.mu.instances {
		for _, l := range inst.slots {
			s.vacateIfEnded(l)
		}
	}
	for _, inst := range s.mu.instances {
		s.wakeIfDue(inst)
	}
	s.unlock()
}

// Abort answers all waiting requests with errStopping and ends every wait for the gate.
func (s *Source) Abort() {
	s.mu.Lock()
	s.mu.stopping, s.mu.closed, s.mu.aborted = true, true, true
	for seq := s.mu.backlog.front; seq != nil; seq = s.mu.backlog.front {
		s.failSequence(seq, errStopping, stats.Other)
	}
	for _, inst := range s.mu.instances {
		s.evict(inst, errStopping, stats.Other)
		s.wakeIfDue(inst)
	}
	s.unlock()
	if s.gate != nil {
		s.gate.Abort()
	}
}

// Free stops timers and releases memory, once no goroutine uses the source.
func (s *Source) Free() {
	s.timer.Stop()
	for _, inst := range s.mu.instances {
		inst.alarm.Close()
		inst.freeZeros()
	}
	s.controls.free()
	if s.implicit != nil {
		s.implicit.Close()
	}
}

// errLost returns the error for a waiting request whose sequence ended with its instance.
func errLost(r *infer.Request) error {
	return status.New(status.Unavailable, "%sthe sequence has ended: its instance of model '%s' broke down", r.Tag(), r.ModelName)
}
