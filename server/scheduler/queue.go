// Package scheduler keeps the requests that wait for a model version and forms batches
// for free instances. A PriorityQueue decides the order of service, rejections and
// timeouts; its Policy decides when a batch is due: NoBatching or DynamicBatching, whose
// delay a DelayController may adapt. PriorityQueue and Policy have no lock and no clock, so
// that a simulation makes the same decisions as a server; the Queue has both. The
// RateLimiter grants the instances of all models the resources that they share. Package
// instance runs the batches.
//
// The scheduler has no goroutine. The instances pull: each has a Slot, the right to run
// one batch at a time. A slot belongs to the queue while it is idle, to the instance's
// own goroutine, or to a caller that enqueued a request, found a batch due at once and
// runs it itself.
package scheduler

import (
	"sync"

	"triton/server/infer"
	"triton/server/stats"
)

// Queue holds the requests that wait for one model version, and its idle slots.
type Queue struct {
	stats *stats.Model
	alarm Alarm  // for batches that are due later
	timer Timer  // for requests that time out; not started when no request can
	gate  Gate   // nil: instances may start at any time
	order *Order // of the responses; nil: any order
	shed  Shed

	mu struct {
		sync.Mutex
		waiting        *PriorityQueue
		expired        infer.List // removed from waiting, to be answered without the lock
		dropped        Dropped    // the queue gave them up, to be answered without the lock
		idle           []*Slot    // the last is used first: its memory is warm
		woken          int        // slots that their goroutine has not taken yet
		waitingForGate int        // slots
		holdUntil      int        // no batch is formed before that many requests wait; then 0
		alive          int
		alarmAt        int64 // what the alarm is set to; 0 when it is not
		closed         bool
	}
}

// Options configure a Queue.
type Options struct {
	Policy Policy
	Rules  Rules
	Slots  int
	Stats  *stats.Model
	Alarm  Alarm // nil: NewAlarm
	Gate   Gate  // nil: instances may start at any time
	// Ordered sends responses in the order in which requests were taken into batches,
	// over all instances.
	Ordered bool
	// HoldUntil delays the first batch until that many requests wait; for tests.
	HoldUntil int
}

var _ Source = (*Queue)(nil)

// NewQueue returns a queue and its slots. The instances' goroutines own the slots until
// they call Next.
func NewQueue(o Options) (*Queue, []*Slot) {
	if o.Alarm == nil {
		o.Alarm = NewAlarm()
	}
	q := &Queue{stats: o.Stats, alarm: o.Alarm, gate: o.Gate, shed: o.Rules.Shed}
	if o.Ordered {
		q.order = &Order{}
	}
	q.mu.waiting = NewPriorityQueue(o.Policy, o.Rules)
	q.mu.alive, q.mu.holdUntil = o.Slots, o.HoldUntil
	if o.Rules.timed() {
		q.timer.Start(q.onTimer)
	}
	return q, NewSlots(o.Slots)
}

// Alive returns the number of slots in service.
func (q *Queue) Alive() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.alive
}
