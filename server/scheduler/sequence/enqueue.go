package sequence

import (
	"fmt"
	"slices"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// Enqueue adds a request to its sequence. A caller that can run a batch itself sets run. It
// gets the instance slot when a batch with its request is due at once.
func (s *Source) Enqueue(r *infer.Request, run bool) (*scheduler.Slot, error) {
	if err := s.validate(r); err != nil {
		return nil, err
	}
	now := infer.Now()
	r.Times.Queued = now
	corrid, err := s.newCorrelationID(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	seq, err := s.find(r, corrid)
	if corrid != nil && (err != nil || seq.corrid != corrid) {
		corrid.Release() // the sequence exists already or does not start
	}
	if err != nil {
		s.unlock()
		return nil, err
	}
	if seq.known && r.SequenceStart {
		defer s.logConflict(seq.id)
	}
	s.join(seq, r, now)
	run = run && s.gate == nil && !s.iterative
	instanceSlot := s.dispatch(seq, r, run)
	s.unlock()
	if instanceSlot != nil {
		s.prepare(instanceSlot.Of.(*instance))
	}
	return instanceSlot, nil
}

// validate refuses requests that no sequence can take.
func (s *Source) validate(r *infer.Request) error {
	if err := s.controls.check(r, s.model); err != nil {
		return err
	}
	if r.Batch > 1 {
		return status.New(status.InvalidArg, "inference request to model '%s' must specify batch-size 1 due to requirements of sequence batcher", s.model)
	}
	if s.iterative {
		r.AllowReschedule()
		return nil
	}
	if (idOf(r) == id{}) {
		return status.New(status.InvalidArg, "inference request to model '%s' must specify a non-zero or non-empty correlation ID", s.model)
	}
	return nil
}

// newCorrelationID allocates memory for the correlation ID of the sequence that a request
// may start, before the lock is taken.
func (s *Source) newCorrelationID(r *infer.Request) (*tensor.Buffer, error) {
	if r.SequenceStart || s.iterative && (idOf(r) == id{}) {
		return s.controls.newCorrelationID(r, s.model)
	}
	return nil, nil
}

// find returns the known sequence of a request. For a request that starts a sequence it
// returns a new one, whose correlation ID is written to corrid.
func (s *Source) find(r *infer.Request, corrid *tensor.Buffer) (*sequence, error) {
	i := idOf(r)
	if s.iterative && (i == id{}) {
		i = s.generate(r)
	}
	if s.mu.stopping && r.SequenceStart || s.mu.aborted {
		return nil, errStopping(r)
	}
	if seq := s.mu.known[i]; seq != nil {
		return seq, nil
	}
	switch {
	case s.mu.alive == 0:
		return nil, scheduler.ErrNoInstance(r)
	case !r.SequenceStart:
		return nil, errNotStarted(i, s.model)
	}
	seq := s.newSequence(i, corrid)
	if l := s.takeFree(); l != nil {
		s.assign(l, seq)
	} else {
		s.mu.backlog.enter(seq)
	}
	return seq, nil
}

// join appends a request to its sequence.
func (s *Source) join(seq *sequence, r *infer.Request, now int64) {
	switch {
	case r.SequenceEnd:
		s.unregister(seq)
	case seq.known:
		s.touch(seq, now)
	default:
		s.register(seq, now)
	}
	seq.waiting.Push(r)
	r.Membership.Sequence = seq
	s.stats.Pending.Add(1)
	if seq.slot == nil {
		s.mu.backlog.countRequest(seq, r, now)
		s.timer.Set(s.mu.backlog.nextDeadline())
	}
}

// dispatch continues after a request has joined a sequence: if a batch is due, it wakes the
// instance. If run is set and the instance is idle, it forms the batch, and returns the
// slot if the request is in it.
func (s *Source) dispatch(seq *sequence, r *infer.Request, run bool) *scheduler.Slot {
	l := seq.slot
	if !r.Enter(s) { // it is cancelled
		r.TakeFromQueue()
		s.cancel(seq, r)
		if l != nil {
			s.wakeIfDue(l.instance) // another sequence may have the slot now
		}
		return nil
	}
	s.mu.hold.endIfReached(s)
	if l == nil {
		return nil
	}
	s.strategy.arrive(s, l)
	inst := l.instance
	if !run || !inst.idle {
		s.wakeIfDue(inst)
		return nil
	}
	decision := s.evaluate(inst)
	if decision.Count == 0 {
		inst.setAlarm(decision.At)
		return nil
	}
	s.strategy.form(s, inst, decision)
	if slices.Contains(inst.instanceSlot.Batch.Requests, r) {
		inst.idle = false
		return inst.instanceSlot
	}
	inst.filled = len(inst.instanceSlot.Batch.Requests) > 0
	s.wakeOnUnlock(inst)
	return nil
}

// logConflict logs that a sequence starts again without having ended.
func (s *Source) logConflict(i id) {
	s.log.Warn(fmt.Sprintf("sequence %s for model '%s' has a conflict. The previous sequence did not end before this sequence start. "+
		"Previous sequence will be terminated early.", i, s.model))
}

func errNotStarted(i id, model string) error {
	return status.New(status.InvalidArg,
		"inference request for sequence %s to model '%s' must specify the START flag on the first request of the sequence", i, model)
}

// errStopping returns the error for a sequence that starts during a drain.
func errStopping(*infer.Request) error {
	return status.New(status.Unavailable, "Server is stopping, scheduler for model has stopped accepting new inference requests")
}

// failFrom removes and fails a request of a sequence and all later ones.
func (s *Source) failFrom(seq *sequence, r *infer.Request, err func(*infer.Request) error, why stats.Failure) {
	for r != nil {
		next := r.Next()
		seq.waiting.Remove(r)
		s.failQueued(r, err(r), why)
		r = next
	}
}

// failQueued fails a request that has left its list.
func (s *Source) failQueued(r *infer.Request, err error, why stats.Failure) {
	r.TakeFromQueue()
	s.stats.Pending.Add(-1)
	s.fail(r, err, why)
}
