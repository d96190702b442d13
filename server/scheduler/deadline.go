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

// deadlines is a heap of the requests that can time out, by deadline, then by arrival.
//
// The server has four heaps: this one, two of package sequence and one of package ratelimit.
// They share the algorithm of container/heap. What differs is the order and the field that
// keeps the index; a generic heap would call both through function values for each step.
type deadlines []*infer.Request

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	a, b := &d[i].Position, &d[j].Position
	if a.Deadline != b.Deadline {
		return a.Deadline < b.Deadline
	}
	return a.Arrival < b.Arrival
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].Position.HeapIndex, d[j].Position.HeapIndex = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(r any) {
	q := r.(*infer.Request)
	q.Position.HeapIndex = len(*d)
	*d = append(*d, q)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	r := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return r
}
