package sequence

import (
	"container/heap"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// backlog holds the sequences without a slot, in arrival order.
type backlog struct {
	sequenceList
	deadlines scheduler.IndexedHeap[*sequence, byDeadline]
	requests  int
}

// enter adds a sequence.
func (b *backlog) enter(seq *sequence) { b.push(seq) }

// countRequest counts a request that joins a sequence in the backlog. The timeout of a
// request applies to the whole sequence until it has a slot.
func (b *backlog) countRequest(seq *sequence, r *infer.Request, now int64) {
	b.requests++
	if r.TimeoutMicros == 0 {
		return
	}
	at := now + scheduler.Micros(r.TimeoutMicros)
	if seq.deadline != 0 && seq.deadline <= at {
		return
	}
	seq.deadline = at
	if seq.index >= 0 {
		heap.Fix(&b.deadlines, seq.index)
	} else {
		heap.Push(&b.deadlines, seq)
	}
}

// leave removes a sequence.
func (b *backlog) leave(seq *sequence) {
	b.remove(seq)
	b.requests -= seq.waiting.Len()
	if seq.index >= 0 {
		heap.Remove(&b.deadlines, seq.index)
	}
}

// pop removes and returns the sequence that waits longest; nil when none does.
func (b *backlog) pop() *sequence {
	seq := b.front
	if seq != nil {
		b.leave(seq)
	}
	return seq
}

// nextDeadline returns when the next sequence times out; 0: never.
func (b *backlog) nextDeadline() int64 {
	if len(b.deadlines) == 0 {
		return 0
	}
	return b.deadlines[0].deadline
}

// expire ends the sequences that waited too long for a slot.
func (s *Source) expire(now int64) {
	b := &s.mu.backlog
	for at := b.nextDeadline(); at != 0 && at <= now; at = b.nextDeadline() {
		s.failSequence(b.deadlines[0], errExpired, stats.Rejected)
	}
}

// failSequence ends a sequence in the backlog and fails all its requests.
func (s *Source) failSequence(seq *sequence, err func(*infer.Request) error, why stats.Failure) {
	s.mu.backlog.leave(seq)
	s.unregister(seq)
	s.failFrom(seq, seq.waiting.Front(), err, why)
	s.release(seq)
}

func errExpired(*infer.Request) error {
	return status.New(status.Unavailable, "timeout of the corresponding sequence has been expired")
}

// byDeadline orders the sequences in the backlog that have a deadline.
type byDeadline struct{}

// Before implements scheduler.HeapOrder.
func (byDeadline) Before(a, b *sequence) bool { return a.deadline < b.deadline }

// Index implements scheduler.HeapOrder.
func (byDeadline) Index(seq *sequence) *int { return &seq.index }
