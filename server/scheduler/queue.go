// Package scheduler keeps the requests that wait for a model version and gives
// them, as batches, to whoever is free to run them. When a batch is due is the
// business of a Policy: Direct here, or the dynamic batcher below this package.
// It does not run batches; that is package instance.
//
// There is no goroutine of the scheduler. The instances pull: each has a Seat,
// the right to run one batch at a time on it. A seat belongs either to the
// queue (idle), to the instance's own goroutine, or to a caller that found a
// batch due the moment it enqueued and runs it itself.
package scheduler

import (
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Policy says when waiting requests make a batch. It must not block and must
// not keep the list.
type Policy interface {
	// Next looks at the requests that wait, at least one, oldest first, at the
	// time now by infer.Now. With flush set nothing is worth waiting for.
	Next(waiting *infer.List, now int64, flush bool) Cut
}

// Cut is a policy's answer: the first Count requests make a batch now or, when
// Count is 0, nothing is due before At unless more requests arrive.
type Cut struct {
	Count int
	Why   stats.Close
	At    int64
}

// Direct is the policy without batching: every request alone, at once.
type Direct struct{}

// Next is the oldest request.
func (Direct) Next(*infer.List, int64, bool) Cut {
	return Cut{Count: 1, Why: stats.Immediate}
}

// Seat is the right to run batches on one instance.
type Seat struct {
	// Batch is the batch to run; whoever holds the seat owns it.
	Batch infer.Batch
	Why   stats.Close
	// Index numbers the seats of a queue from 0.
	Index int

	wake    chan struct{} // the seat is given to the instance's goroutine
	idle    bool          // under the queue's lock, as is dead
	dead    bool
	dropped infer.List // cancelled requests met while cutting
}

// Queue is the requests that wait for one model version and its seats.
type Queue struct {
	policy Policy
	limit  int
	stats  *stats.Model
	alarm  Alarm // for what Policy said is due later

	mu struct {
		sync.Mutex
		waiting infer.List
		idle    []*Seat // the last is taken first: its memory is warm
		woken   int     // seats on their way to their goroutine
		alive   int
		tick    int64 // what the alarm is set to; 0 when it is not
		closed  bool
	}
}

// Options say what a Queue is made of.
type Options struct {
	Policy Policy
	Limit  int // of requests that wait; 0: none
	Seats  int
	Stats  *stats.Model
	Alarm  Alarm // nil: NewClock
}

var _ Source = (*Queue)(nil)

// NewQueue makes a queue and its seats, all of them held by the instances'
// goroutines until they call Next.
func NewQueue(o Options) (*Queue, []*Seat) {
	if o.Alarm == nil {
		o.Alarm = NewClock()
	}
	q := &Queue{policy: o.Policy, limit: o.Limit, stats: o.Stats, alarm: o.Alarm}
	q.mu.alive = o.Seats
	return q, NewSeats(o.Seats)
}

// Enqueue accepts a request; the core's reference moves into the queue unless
// there is an error. A caller that can run a batch itself sets run: it gets a
// seat when a batch that ends with its request is due at once, and must give it
// back with Done or Retire.
func (q *Queue) Enqueue(r *infer.Request, run bool) (*Seat, error) {
	r.Times.Queued = infer.Now()
	q.mu.Lock()
	if err := q.admit(r); err != nil {
		q.mu.Unlock()
		return nil, err
	}
	if !r.Enter(q) {
		r.Move(infer.Queued, infer.Executing)
		q.mu.Unlock()
		q.fail(r, errCancelled(), stats.Canceled)
		return nil, nil
	}
	q.mu.waiting.Push(r)
	q.stats.Pending.Add(1)
	seat, cut := q.choose(r.Times.Queued)
	if seat == nil {
		q.mu.Unlock()
		return nil, nil
	}
	// The newest request stands last: a batch with it is the whole queue.
	if run && cut.Count == q.mu.waiting.Len() {
		q.fill(seat, cut)
		q.mu.Unlock()
		return q.handOver(seat), nil
	}
	q.mu.woken++
	q.mu.Unlock()
	seat.wake <- struct{}{}
	return nil, nil
}

// handOver is the seat for the caller to run, unless everything in its batch
// was cancelled meanwhile.
func (q *Queue) handOver(s *Seat) *Seat {
	q.drop(s)
	if len(s.Batch.Requests) == 0 {
		q.Done(s)
		return nil
	}
	return s
}

// admit says whether the queue takes one more request.
func (q *Queue) admit(r *infer.Request) error {
	switch {
	case q.mu.closed:
		return Stopping(r)
	case q.mu.alive == 0:
		return errDead(r)
	case q.limit > 0 && q.mu.waiting.Len() >= q.limit:
		return status.New(status.Unavailable, "%sExceeds maximum queue size", r.Tag())
	}
	return nil
}

// Stopping is the error of a request that a drain leaves behind.
func Stopping(r *infer.Request) error {
	return status.New(status.Unavailable, "%sServer is stopping, scheduler for model has stopped accepting new inference requests", r.Tag())
}

// errCancelled has no text, as Triton's.
func errCancelled() error { return status.New(status.Cancelled, "") }

func errDead(r *infer.Request) error {
	return status.New(status.Unavailable, "%smodel '%s' has no working instance left; reload the model", r.Tag(), r.ModelName)
}

// choose takes an idle seat out when a batch is due, and otherwise sets the
// alarm for when one will be. A seat that is on its way already will look at
// the queue itself, and then call choose for what it leaves.
func (q *Queue) choose(now int64) (*Seat, Cut) {
	n := len(q.mu.idle)
	if n == 0 || q.mu.woken > 0 || q.mu.waiting.Len() == 0 {
		return nil, Cut{}
	}
	cut := q.policy.Next(&q.mu.waiting, now, q.mu.closed)
	if cut.Count == 0 {
		q.arm(cut.At, now)
		return nil, cut
	}
	s := q.mu.idle[n-1]
	q.mu.idle = q.mu.idle[:n-1]
	s.idle = false
	return s, cut
}

func (q *Queue) arm(at, now int64) {
	if q.mu.tick == at {
		return
	}
	q.mu.tick = at
	q.alarm.Set(time.Duration(at - now))
}

// fill moves the batch from the queue to the seat. Requests that nobody waits
// for any more are put aside and never run.
func (q *Queue) fill(s *Seat, c Cut) {
	s.Why = c.Why
	for range c.Count {
		r := q.mu.waiting.Pop()
		r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
		if r.Cancelled() {
			s.dropped.Push(r)
			continue
		}
		s.Batch.Add(r)
	}
	q.stats.Pending.Add(-int64(c.Count))
}

// drop answers the requests that fill put aside; without the lock.
func (q *Queue) drop(s *Seat) {
	for r := s.dropped.Pop(); r != nil; r = s.dropped.Pop() {
		q.fail(r, errCancelled(), stats.Canceled)
	}
}

// fail answers a request that never ran and gives the core's reference back.
func (q *Queue) fail(r *infer.Request, err error, why stats.Failure) {
	q.stats.Fail(why, infer.Now()-r.Times.Received)
	r.Fail(err)
	r.Release()
}

// Waiting is the number of requests in the queue.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.waiting.Len()
}

// Withdraw takes a request out that nobody waits for any more and answers it
// with Cancelled. False when it does not wait: it is running or was answered,
// and its core reference is with whoever does that.
func (q *Queue) Withdraw(r *infer.Request) bool {
	q.mu.Lock()
	if !r.Move(infer.Queued, infer.Executing) {
		q.mu.Unlock()
		return false
	}
	q.mu.waiting.Remove(r)
	// What is left may be due now: another total, another follower.
	q.unlockAndWake(infer.Now())
	q.stats.Pending.Add(-1)
	q.fail(r, errCancelled(), stats.Canceled)
	return true
}
