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

// Enqueue puts a request in its place in its sequence. A caller that can run a
// batch itself gets the seat when that makes a batch due with its request in it.
func (s *Source) Enqueue(r *infer.Request, run bool) (*scheduler.Seat, error) {
	if err := s.inspect(r); err != nil {
		return nil, err
	}
	now := infer.Now()
	r.Times.Queued = now
	if s.continues(r) {
		return nil, nil
	}
	corrid, err := s.room(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	q, err := s.find(r, corrid)
	if corrid != nil && (err != nil || q.corrid != corrid) {
		corrid.Release() // the sequence has begun before, or does not begin
	}
	if err != nil {
		s.unlock()
		return nil, err
	}
	if q.known && r.SequenceStart {
		defer s.conflict(q.id)
	}
	s.join(q, r, now)
	run = run && s.gate == nil && !s.iterative
	seat := s.dispatch(q, r, run)
	s.unlock()
	if seat != nil {
		s.prepare(s.benches[seat.Index])
	}
	return seat, nil
}

// inspect refuses what no sequence can take.
func (s *Source) inspect(r *infer.Request) error {
	if err := s.controls.check(r, s.model); err != nil {
		return err
	}
	if r.Batch > 1 {
		return status.New(status.InvalidArg, "inference request to model '%s' must specify batch-size 1 due to requirements of sequence batcher", s.model)
	}
	if s.iterative {
		r.Iterate()
		return nil
	}
	if (idOf(r) == id{}) {
		return status.New(status.InvalidArg, "inference request to model '%s' must specify a non-zero or non-empty correlation ID", s.model)
	}
	return nil
}

// room is memory for the correlation id of the sequence that a request may start.
// It is taken here because the lock is held later.
func (s *Source) room(r *infer.Request) (*tensor.Buffer, error) {
	if r.SequenceStart || s.iterative && (idOf(r) == id{}) {
		return s.controls.corrid(r, s.model)
	}
	return nil, nil
}

// find is the sequence that a request belongs to, a new one with corrid when it
// starts one.
func (s *Source) find(r *infer.Request, corrid *tensor.Buffer) (*sequence, error) {
	i := idOf(r)
	if s.iterative && (i == id{}) {
		i = s.generate(r)
	}
	if s.mu.stopping && r.SequenceStart || s.mu.aborted {
		return nil, errStopping(r)
	}
	if q := s.mu.known[i]; q != nil {
		return q, nil
	}
	switch {
	case s.mu.alive == 0:
		return nil, scheduler.ErrDead(r)
	case !r.SequenceStart:
		return nil, errStart(i, s.model)
	}
	q := s.begin(i, corrid)
	if l := s.take(); l != nil {
		s.assign(l, q)
	} else {
		s.mu.backlog.enter(q)
	}
	return q, nil
}

// join appends a request to its sequence.
func (s *Source) join(q *sequence, r *infer.Request, now int64) {
	switch {
	case r.SequenceEnd:
		s.forget(q)
	case q.known:
		s.touch(q, now)
	default:
		s.know(q, now)
	}
	q.waiting.Push(r)
	r.Member.Of = q
	s.stats.Pending.Add(1)
	if q.slot == nil {
		s.mu.backlog.note(q, r, now)
		s.timer.Set(s.mu.backlog.due())
	}
}

// dispatch is what follows when a request has joined a sequence.
func (s *Source) dispatch(q *sequence, r *infer.Request, run bool) *scheduler.Seat {
	l := q.slot
	if !r.Enter(s) { // nobody waits for it any more
		r.Move(infer.Queued, infer.Executing)
		s.cancel(q, r)
		if l != nil {
			s.check(l.bench) // another sequence may have the slot now
		}
		return nil
	}
	s.mu.hold.look(s)
	if l == nil {
		return nil
	}
	s.strategy.arrive(s, l)
	b := l.bench
	if !run || !b.idle {
		s.check(b)
		return nil
	}
	cut := s.look(b)
	if cut.Count == 0 {
		b.arm(cut.At)
		return nil
	}
	s.strategy.fill(s, b, cut)
	if slices.Contains(b.seat.Batch.Requests, r) {
		b.idle = false
		return b.seat
	}
	b.filled = len(b.seat.Batch.Requests) > 0
	s.rouse(b)
	return nil
}

// conflict notes that a sequence begins anew that had not ended.
func (s *Source) conflict(i id) {
	s.log.Warn(fmt.Sprintf("sequence %s for model '%s' has a conflict. The previous sequence did not end before this sequence start. "+
		"Previous sequence will be terminated early.", i, s.model))
}

func errStart(i id, model string) error {
	return status.New(status.InvalidArg,
		"inference request for sequence %s to model '%s' must specify the START flag on the first request of the sequence", i, model)
}

// errStopping is the answer to sequences that begin too late.
func errStopping(*infer.Request) error {
	return status.New(status.Unavailable, "Server is stopping, scheduler for model has stopped accepting new inference requests")
}

// failFrom takes a request of a sequence and all behind it out, to fail.
func (s *Source) failFrom(q *sequence, r *infer.Request, err func(*infer.Request) error, why stats.Failure) {
	for r != nil {
		next := r.Next()
		q.waiting.Remove(r)
		s.drop(r, err(r), why)
		r = next
	}
}

// drop fails a request that stands in no list any more.
func (s *Source) drop(r *infer.Request, err error, why stats.Failure) {
	r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
	s.stats.Pending.Add(-1)
	s.fail(r, err, why)
}
