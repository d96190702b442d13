package scheduler

import (
	"container/heap"

	"triton/server/infer"
)

// Deadline returns when the next request times out; 0 when none can.
func (q *PriorityQueue) Deadline() int64 {
	if len(q.deadlines) == 0 {
		return 0
	}
	return q.deadlines[0].Position.Deadline
}

// Expire removes the requests whose timeout has passed, and appends them to rejected. At
// levels whose timeout action is DELAY they move to the end of their level instead and
// have no deadline any more.
func (q *PriorityQueue) Expire(now int64, rejected *infer.List) {
	for len(q.deadlines) > 0 && q.deadlines[0].Position.Deadline <= now {
		r := q.deadlines[0]
		i, _ := q.find(r.Position.Level)
		v := q.levels[i]
		if !v.policy.DelayExpired {
			q.Remove(r)
			rejected.Push(r)
			continue
		}
		heap.Pop(&q.deadlines)
		q.invalidateMemo(r)
		v.remove(r)
		r.Position.Deadline, r.Position.Delayed = 0, true
		v.delayed.Push(r)
	}
}

// byDeadline orders the requests that can time out by deadline, then by arrival.
type byDeadline struct{}

// Before implements HeapOrder.
func (byDeadline) Before(a, b *infer.Request) bool {
	if a.Position.Deadline != b.Position.Deadline {
		return a.Position.Deadline < b.Position.Deadline
	}
	return a.Position.Arrival < b.Position.Arrival
}

// Index implements HeapOrder.
func (byDeadline) Index(r *infer.Request) *int { return &r.Position.HeapIndex }
