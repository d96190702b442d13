package sequence

import (
	"container/heap"
	"time"

	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// instance is one instance: its instance slot, its sequence slots and the state of its
// strategy.
type instance struct {
	instanceSlot *scheduler.Slot
	slots        []*slot // by number; those that were ever used
	occupied     int     // slots that belong to a sequence
	queue        *scheduler.PriorityQueue
	order        scheduler.Order // of the responses, with oldest
	wake         chan struct{}   // gives the instance slot to the instance's goroutine

	idle     bool // the instance slot is free
	retired  bool
	leaving  bool // no sequence starts on it; it is retired when the last one has ended
	filled   bool // a caller has formed the batch for the instance's goroutine
	nextWake *instance
	alarm    scheduler.Alarm
	alarmAt  int64 // what the alarm is set to; 0 when it is not

	// grant and zeros belong to the holder of the instance slot.
	grant scheduler.Grant
	zeros *tensor.Buffer // inputs of null requests
}

func newInstance(s *Source, instanceSlot *scheduler.Slot, alarm scheduler.Alarm) *instance {
	inst := &instance{instanceSlot: instanceSlot, queue: s.strategy.newQueue(), wake: make(chan struct{}, 1), alarm: alarm}
	instanceSlot.Of = inst
	return inst
}

// Next waits for the next batch of an instance; the instance's goroutine calls it while
// it holds the instance slot. It returns false when the instance must be closed.
func (s *Source) Next(instanceSlot *scheduler.Slot) bool {
	inst := instanceSlot.Of.(*instance)
	inst.grant.Use() // the previous batch has run under it
	s.mu.Lock()
	for !inst.retired || inst.filled { // a batch that a caller formed runs in any case
		if s.form(inst) {
			s.prepare(inst)
			return true
		}
		if s.finished(inst) {
			break
		}
	}
	s.unlock()
	inst.grant.Release(s.gate, inst.instanceSlot.Index)
	return false
}

// form forms a batch if one is due, and releases the lock. Otherwise it waits until the
// instance must be evaluated again, and returns false with the lock held.
func (s *Source) form(inst *instance) bool {
	decision := s.evaluate(inst)
	switch {
	case inst.filled:
		inst.filled = false
	case decision.Count == 0 && inst.grant.Held():
		s.unlock()
		inst.grant.Release(s.gate, inst.instanceSlot.Index)
		s.mu.Lock()
		return false
	case decision.Count == 0:
		if !s.finished(inst) {
			s.waitIdle(inst, decision.At)
		}
		return false
	case s.gate != nil && !inst.grant.Unused():
		s.unlock()
		inst.grant.Acquire(s.gate, inst.instanceSlot.Index)
		s.mu.Lock()
		return false
	default:
		s.strategy.form(s, inst, decision)
	}
	if len(inst.instanceSlot.Batch.Requests) == 0 {
		return false
	}
	s.unlock()
	return true
}

// waitIdle releases the lock and blocks the goroutine until there may be work. It returns
// with the lock held. It differs from Queue.wait of package scheduler: here each instance
// has its own alarm, there all slots share one, and a tick may be for another slot.
func (s *Source) waitIdle(inst *instance, at int64) {
	inst.setAlarm(at)
	inst.idle = true
	s.unlock()
	for {
		select {
		case <-inst.wake:
			s.mu.Lock()
			return
		case <-inst.alarm.C():
		}
		s.mu.Lock()
		inst.alarmAt = 0
		if inst.idle {
			inst.idle = false
			return
		}
		s.unlock() // a caller holds the slot, or has woken this goroutine
	}
}

// finished reports whether an instance will get no more work: it or the source is closed, no
// request waits, and no sequence has a slot. After Abort sequences may still have slots:
// only requests that the backend keeps, which need no goroutine.
func (s *Source) finished(inst *instance) bool {
	return (s.mu.closed || inst.leaving) && (inst.occupied == 0 || s.mu.aborted) && inst.queue.Len() == 0
}

// evaluate returns the decision of the strategy for an instance.
func (s *Source) evaluate(inst *instance) scheduler.Decision {
	if s.mu.hold.on() {
		return scheduler.Decision{}
	}
	return s.strategy.evaluate(s, inst, infer.Now(), s.mu.closed)
}

// wakeIfDue wakes an idle instance if a batch is due or the instance is finished. Otherwise
// it sets the alarm to the time when a batch will be due.
func (s *Source) wakeIfDue(inst *instance) {
	if !inst.idle {
		return
	}
	if decision := s.evaluate(inst); decision.Count > 0 || s.finished(inst) {
		s.wakeOnUnlock(inst)
	} else {
		inst.setAlarm(decision.At)
	}
}

// wakeOnUnlock gives an instance slot to its goroutine when the lock is released.
func (s *Source) wakeOnUnlock(inst *instance) {
	inst.idle = false
	inst.nextWake, s.mu.wakeList = s.mu.wakeList, inst
}

func (inst *instance) setAlarm(at int64) {
	if at == 0 || inst.alarmAt == at {
		return
	}
	inst.alarmAt = at
	inst.alarm.Set(time.Duration(at - infer.Now()))
}

// Done returns an instance slot that Enqueue handed to a caller.
func (s *Source) Done(instanceSlot *scheduler.Slot) {
	inst := instanceSlot.Of.(*instance)
	s.mu.Lock()
	inst.idle = true
	if inst.retired {
		s.wakeOnUnlock(inst)
	} else {
		s.wakeIfDue(inst)
	}
	s.unlock()
}

// Retire takes a broken instance out of service. Its sequences end: their state is lost.
func (s *Source) Retire(instanceSlot *scheduler.Slot) {
	inst := instanceSlot.Of.(*instance)
	s.mu.Lock()
	defer s.unlock()
	if inst.retired {
		return
	}
	inst.retired = true
	if !inst.leaving {
		s.mu.alive--
	}
	s.mu.free.removeInstance(inst)
	s.evict(inst, errLost, stats.Other)
	s.refuseBacklog()
	if inst.idle {
		s.wakeOnUnlock(inst)
	}
}

// Restore brings an instance back into service. Its sequence slots become free, except
// those of sequences whose last request the backend still keeps. Sequences in the backlog
// get the free slots first.
func (s *Source) Restore(instanceSlot *scheduler.Slot) {
	inst := instanceSlot.Of.(*instance)
	s.mu.Lock()
	defer s.unlock()
	if !inst.retired || inst.leaving {
		return
	}
	inst.retired = false
	s.mu.alive++
	for _, l := range inst.slots {
		if l.seq == nil {
			heap.Push(&s.mu.free, l)
		}
	}
	for s.mu.backlog.front != nil {
		l := s.takeFree()
		if l == nil {
			return
		}
		s.assignFromBacklog(l)
	}
}

// evict ends all sequences of an instance and fails their waiting requests.
func (s *Source) evict(inst *instance, err func(*infer.Request) error, why stats.Failure) {
	for _, l := range inst.slots {
		if r := l.queued; r != nil {
			s.unqueue(l)
			s.failQueued(r, err(r), why)
		}
		if seq := l.seq; seq != nil {
			s.failFrom(seq, seq.waiting.Front(), err, why)
			s.unregister(seq)
			s.vacateIfEnded(l)
		}
	}
}
