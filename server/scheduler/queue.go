// Package scheduler keeps the requests that wait for a model version and gives
// them, as batches, to whoever is free to run them. Who is served next, who is
// refused and who times out is decided by a Line, when a batch is due by its
// Policy: Direct here, or the dynamic batcher below this package. Neither has a
// lock or a clock, so that a simulation decides as a server does; the Queue has
// both. It does not run batches; that is package instance.
//
// There is no goroutine of the scheduler. The instances pull: each has a Seat,
// the right to run one batch at a time on it. A seat belongs either to the
// queue (idle), to the instance's own goroutine, or to a caller that found a
// batch due the moment it enqueued and runs it itself.
package scheduler

import (
	"sync"

	"triton/server/infer"
	"triton/server/stats"
)

// Queue is the requests that wait for one model version and its seats.
type Queue struct {
	stats *stats.Model
	alarm Alarm  // for what the policy said is due later
	timer Timer  // for requests that time out; where none can, it is not started
	gate  Gate   // nil: instances may begin at any time
	order *Order // of the responses; nil: as they come

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
		q.order = &Order{}
	}
	q.mu.line = NewLine(o.Policy, o.Rules)
	q.mu.alive, q.mu.hold = o.Seats, o.Hold
	if o.Rules.timed() {
		q.timer.Start(q.expireNow)
	}
	return q, NewSeats(o.Seats)
}

// Alive is the number of seats in service.
func (q *Queue) Alive() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.alive
}
