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
	turn    turn
	dropped infer.List // cancelled requests met while cutting
}

// Queue is the requests that wait for one model version and its seats.
type Queue struct {
	stats *stats.Model
	alarm Alarm  // for what the policy said is due later
	timer expiry // for requests that time out
	gate  Gate   // nil: instances may begin at any time
	order *order // of the responses; nil: as they come

	mu struct {
		sync.Mutex
		line    *Line
		expired infer.List // left the line, to be answered without the lock
		idle    []*Seat    // the last is taken first: its memory is warm
		woken   int        // seats on their way to their goroutine
		asking  int        // seats that wait for the gate
		hold    int        // nothing is cut before that many requests wait; 0 from then on
		alive   int
		tick    int64 // what the alarm is set to; 0 when it is not
		closed  bool
	}
}

// Options say what a Queue is made of.
type Options struct {
	Policy Policy
	Rules  Rules
	Seats  int
	Stats  *stats.Model
	Alarm  Alarm // nil: NewClock
	Gate   Gate  // nil: instances may begin at any time
	// Ordered makes responses leave in the order in which requests were cut into
	// batches, over all instances.
	Ordered bool
	// Hold keeps everything waiting, once, until that many requests wait.
	Hold int
}

var _ Source = (*Queue)(nil)

// NewQueue makes a queue and its seats, all of them held by the instances'
// goroutines until they call Next.
func NewQueue(o Options) (*Queue, []*Seat) {
	if o.Alarm == nil {
		o.Alarm = NewClock()
	}
	q := &Queue{stats: o.Stats, alarm: o.Alarm, gate: o.Gate}
	if o.Ordered {
		q.order = &order{}
	}
	q.mu.line = NewLine(o.Policy, o.Rules)
	q.mu.alive, q.mu.hold = o.Seats, o.Hold
	if o.Rules.timed() {
		q.timer.start(q)
	}
	return q, NewSeats(o.Seats)
}

// Enqueue accepts a request; the core's reference moves into the queue unless
// there is an error. A caller that can run a batch itself sets run: it gets a
// seat when a batch that ends with its request is due at once, and must give it
// back with Done or Retire.
func (q *Queue) Enqueue(r *infer.Request, run bool) (*Seat, error) {
	now := infer.Now()
	r.Times.Queued = now
	q.mu.Lock()
	if err := q.admit(r, now); err != nil {
		q.unlock()
		return nil, err
	}
	q.stats.Pending.Add(1)
	if !r.Enter(q) {
		q.withdraw(r)
		return nil, nil
	}
	seat, cut := q.choose(now)
	if seat == nil {
		q.unlock()
		return nil, nil
	}
	if run && q.inline() && cut.Count == q.mu.line.Len() {
		q.fill(seat, cut)
		q.unlock()
		return q.handOver(seat), nil
	}
	q.mu.woken++
	q.unlock()
	seat.wake <- struct{}{}
	return nil, nil
}

// inline says whether callers may run batches: not when each waits for the gate,
// and not when their answers wait for each other.
func (q *Queue) inline() bool { return q.gate == nil && q.order == nil }

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

// admit puts a request in the line, unless the queue takes no more.
func (q *Queue) admit(r *infer.Request, now int64) error {
	switch {
	case q.mu.closed:
		return Stopping(r)
	case q.mu.alive == 0:
		return errDead(r)
	}
	q.expire(now) // makes room
	return q.mu.line.Push(r, now)
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
	if n == 0 || q.mu.woken > 0 {
		return nil, Cut{}
	}
	cut := q.look(now)
	if cut.Count == 0 {
		q.arm(cut.At, now)
		return nil, cut
	}
	// Each of those that wait for the gate takes a batch like this one.
	if q.mu.asking > 0 && q.mu.asking*cut.Count >= q.mu.line.Len() {
		return nil, Cut{}
	}
	s := q.pick()
	q.unrest(s)
	return s, cut
}

// pick is the idle seat to take.
func (q *Queue) pick() *Seat {
	best := q.mu.idle[len(q.mu.idle)-1]
	if q.gate == nil {
		return best
	}
	for _, s := range q.mu.idle {
		if q.gate.Weight(s.Index) < q.gate.Weight(best.Index) {
			best = s
		}
	}
	return best
}

func (q *Queue) arm(at, now int64) {
	if at == 0 || q.mu.tick == at {
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
		r := q.mu.line.Pop()
		r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
		if r.Cancelled() {
			s.dropped.Push(r)
			continue
		}
		if q.order != nil {
			q.order.enter(r)
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
	return q.mu.line.Len()
}

// Withdraw takes a request out that nobody waits for any more and answers it
// with Cancelled. False when it does not wait: it is running or was answered,
// and its core reference is with whoever does that.
func (q *Queue) Withdraw(r *infer.Request) bool {
	q.mu.Lock()
	return q.withdraw(r)
}

// withdraw unlocks.
func (q *Queue) withdraw(r *infer.Request) bool {
	if !r.Move(infer.Queued, infer.Executing) {
		q.mu.Unlock()
		return false
	}
	q.mu.line.Remove(r)
	// What is left may be due now: another total, another follower.
	q.unlockAndWake(infer.Now())
	q.stats.Pending.Add(-1)
	q.fail(r, errCancelled(), stats.Canceled)
	return true
}
