package sequence

import (
	"slices"

	"triton/server/scheduler"
	"triton/server/stats"
)

// Add returns the slot of a further instance, which is out of service until Restore.
func (s *Source) Add(index int) *scheduler.Slot {
	instanceSlot := scheduler.NewSlot(index)
	s.mu.Lock()
	defer s.mu.Unlock()
	inst := newInstance(s, instanceSlot, s.newAlarm())
	inst.retired = true
	s.mu.instances = append(s.mu.instances, inst)
	return instanceSlot
}

// Remove lets no further sequence start on an instance. Those that have begun there stay, and the
// instance with them until they end; then Next returns false.
func (s *Source) Remove(instanceSlot *scheduler.Slot) {
	inst := instanceSlot.Of.(*instance)
	s.mu.Lock()
	defer s.unlock()
	if inst.leaving {
		return
	}
	inst.leaving = true
	s.mu.free.removeInstance(inst)
	if !inst.retired {
		s.mu.alive--
		s.refuseBacklog()
	}
	s.wakeIfDue(inst)
}

// Discard releases what a slot uses that no goroutine uses any more.
func (s *Source) Discard(instanceSlot *scheduler.Slot) {
	inst := instanceSlot.Of.(*instance)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.instances = slices.DeleteFunc(s.mu.instances, func(o *instance) bool { return o == inst })
	inst.alarm.Close()
	inst.freeZeros()
}

// refuseBacklog answers the sequences in the backlog if no instance is in service.
func (s *Source) refuseBacklog() {
	for seq := s.mu.backlog.front; seq != nil && s.mu.alive == 0; seq = s.mu.backlog.front {
		s.failSequence(seq, scheduler.ErrNoInstance, stats.Other)
	}
}
