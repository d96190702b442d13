package scheduler

import (
	"container/heap"
	"slices"

	"triton/server/infer"
	"triton/server/stats"
)

// Policy decides when waiting requests make a batch. It must not block and must not retain
// the queue.
type Policy interface {
	// Evaluate considers the waiting requests, at least one, in the order of service, at
	// the time now by infer.Now. With flush set, no batch is worth a delay.
	Evaluate(waiting *PriorityQueue, now int64, flush bool) Decision
}

// Decision is a policy's result. If Count is not 0, the first Count requests make a batch
// now. Otherwise the policy must be evaluated again at the time At, and whenever the queue
// changes; with At 0, only when the queue changes.
type Decision struct {
	Count int
	Why   stats.CloseReason
	At    int64
}

// NoBatching is the policy without batching: every request runs alone, at once.
type NoBatching struct{}

// Evaluate takes the first request.
func (NoBatching) Evaluate(*PriorityQueue, int64, bool) Decision {
	return Decision{Count: 1, Why: stats.Immediate}
}

// PriorityQueue holds the waiting requests in the order of service: by priority level, and within a level first
// those whose timeout has not passed, then those that wait after their timeout. Callers that are known take
// turns in a level: which of their requests is next is decided when a batch is formed, and not changed after
// that. It makes all decisions of a Queue without a lock, a goroutine or a clock: all times are parameters, in
// nanoseconds by infer.Now or any other clock.
type PriorityQueue struct {
	policy     Policy
	rules      Rules
	levels     []*level                                // ascending; without priorities always one
	unused     []*level                                // empty levels, for reuse
	deadlines  IndexedHeap[*infer.Request, byDeadline] // requests that can time out
	n          int
	arrivals   uint64 // requests that ever entered
	turnsGiven uint64 // requests that were ever given a turn
	memo       policyMemo
	shedAt     int64 // the time while Evaluate runs, if requests are shed; else 0
	dropped    Dropped
}

// maxUnusedLevels bounds the levels kept for reuse: clients choose the numbers.
const maxUnusedLevels = 16

// level holds the requests of one priority. Empty levels are removed.
type level struct {
	number          uint64
	policy          QueuePolicy
	active, delayed infer.List
	turns           *turns // of requests that come before the delayed ones; nil: none ever
}

// len returns the number of requests.
func (v *level) len() int {
	n := v.active.Len() + v.delayed.Len()
	if v.turns != nil {
		n += v.turns.n
	}
	return n
}

// NewPriorityQueue returns an empty queue.
func NewPriorityQueue(p Policy, r Rules) *PriorityQueue {
	q := &PriorityQueue{policy: p, rules: r}
	if r.Levels == 0 {
		q.levels = []*level{{policy: r.DefaultPolicy}}
	}
	return q
}

// Push adds a request that arrives now and sets r.Position. It fails when the request's
// level is full.
func (q *PriorityQueue) Push(r *infer.Request, now int64) error {
	v := q.level(q.rules.level(r.Priority))
	if v.policy.Limit > 0 && v.len() >= v.policy.Limit && !q.makeRoom(v, r) {
		return errFull(r)
	}
	r.Position = infer.Position{Level: v.number, Since: now, Deadline: v.policy.deadline(r, now), Arrival: q.arrivals}
	q.arrivals++
	if q.takesTurns(v, r) {
		v.turns.push(r)
		q.invalidateMemo(r)
	} else {
		q.append(v, r)
	}
	q.n++
	if r.Position.Deadline != 0 {
		heap.Push(&q.deadlines, r)
	}
	return nil
}

// Evaluate returns the policy's decision; the zero Decision when nothing waits. The
// caller calls Expire first.
func (q *PriorityQueue) Evaluate(now int64, flush bool) Decision {
	if q.n == 0 {
		return Decision{}
	}
	if q.rules.Shed.Target > 0 && !flush {
		return q.evaluateAndShed(now)
	}
	return q.policy.Evaluate(q, now, flush)
}

// Len returns the number of requests.
func (q *PriorityQueue) Len() int { return q.n }

// Front returns the request that is served next; nil when none waits.
func (q *PriorityQueue) Front() *infer.Request {
	return q.frontFrom(0)
}

// frontFrom returns the request that is served first of a level and those after it.
func (q *PriorityQueue) frontFrom(i int) *infer.Request {
	for i < len(q.levels) {
		v := q.levels[i]
		if r := q.front(v); r != nil {
			return r
		}
		if i < len(q.levels) && q.levels[i] == v { // else it became empty and was removed
			i++
		}
	}
	return nil
}

// After returns the request that is served after r; nil after the last.
func (q *PriorityQueue) After(r *infer.Request) *infer.Request {
	if next := r.Next(); next != nil {
		return next
	}
	return q.afterList(r)
}

func (q *PriorityQueue) afterList(r *infer.Request) *infer.Request {
	i, _ := q.find(r.Position.Level)
	if v := q.levels[i]; !r.Position.Delayed {
		if v.turns != nil {
			if next := q.giveTurn(v); next != nil {
				return next
			}
		}
		if next := v.delayed.Front(); next != nil {
			return next
		}
	}
	return q.frontFrom(i + 1)
}

// Pop removes and returns the first request; nil when none waits.
func (q *PriorityQueue) Pop() *infer.Request {
	r := q.Front()
	if r != nil {
		q.Remove(r)
	}
	return r
}

// Remove removes a request that waits in this queue.
func (q *PriorityQueue) Remove(r *infer.Request) {
	i, _ := q.find(r.Position.Level)
	q.takeFrom(i, r)
}

// takeFrom removes a request from a level.
func (q *PriorityQueue) takeFrom(i int, r *infer.Request) {
	v := q.levels[i]
	q.unlink(v, r)
	q.removeIfEmpty(i, v)
}

// unlink removes a request from its level, which may be empty then.
func (q *PriorityQueue) unlink(v *level, r *infer.Request) {
	q.invalidateMemo(r)
	if r.Position.Deadline != 0 {
		heap.Remove(&q.deadlines, r.Position.HeapIndex)
	}
	v.remove(r)
	q.n--
}

// remove removes a request from the list that it is in.
func (v *level) remove(r *infer.Request) {
	switch {
	case r.Position.Delayed:
		v.delayed.Remove(r)
	case r.Position.Undecided:
		v.turns.remove(r)
	default:
		v.active.Remove(r)
	}
}

// removeIfEmpty removes a level without requests. Without priorities there is always one.
func (q *PriorityQueue) removeIfEmpty(i int, v *level) {
	if q.rules.Levels > 0 && v.len() == 0 {
		q.levels = slices.Delete(q.levels, i, i+1)
		if len(q.unused) < maxUnusedLevels {
			q.unused = append(q.unused, v)
		}
	}
}

// level returns the level of that number, and adds it if needed.
func (q *PriorityQueue) level(number uint64) *level {
	if q.rules.Levels == 0 {
		return q.levels[0]
	}
	i, ok := q.find(number)
	if ok {
		return q.levels[i]
	}
	v := &level{}
	if n := len(q.unused); n > 0 {
		v, q.unused = q.unused[n-1], q.unused[:n-1]
	}
	v.number, v.policy = number, q.rules.policy(number)
	q.levels = slices.Insert(q.levels, i, v)
	return v
}

// find returns the index of a level, or where to insert it.
func (q *PriorityQueue) find(number uint64) (int, bool) {
	if q.rules.Levels == 0 {
		return 0, true
	}
	return slices.BinarySearchFunc(q.levels, number, func(v *level, number uint64) int {
		switch {
		case v.number < number:
			return -1
		case v.number > number:
			return 1
		}
		return 0
	})
}
