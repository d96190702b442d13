package scheduler

import (
	"container/heap"

	"triton/server/infer"
)

// Deadline is when the next request times out; 0 when none can.
func (l *Line) Deadline() int64 {
	if len(l.deadlines) == 0 {
		return 0
	}
	return l.deadlines[0].Place.Deadline
}

// Expire takes the requests out whose timeout has passed, and appends them to
// rejected. Those of levels that let them wait on go to the end of their level
// instead, and have no deadline any more.
func (l *Line) Expire(now int64, rejected *infer.List) {
	for len(l.deadlines) > 0 && l.deadlines[0].Place.Deadline <= now {
		r := l.deadlines[0]
		i, _ := l.find(r.Place.Level)
		v := l.levels[i]
		if !v.rule.Delay {
			l.Remove(r)
			rejected.Push(r)
			continue
		}
		heap.Pop(&l.deadlines)
		l.disturb(r)
		v.active.Remove(r)
		r.Place.Deadline, r.Place.Delayed = 0, true
		v.delayed.Push(r)
	}
}

// deadlines is a heap of the requests that can time out, the next in front; of
// those with the same deadline the one that came first.
type deadlines []*infer.Request

func (d deadlines) Len() int { return len(d) }

func (d deadlines) Less(i, j int) bool {
	a, b := &d[i].Place, &d[j].Place
	if a.Deadline != b.Deadline {
		return a.Deadline < b.Deadline
	}
	return a.Turn < b.Turn
}

func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].Place.Index, d[j].Place.Index = i, j
}

// Push is for container/heap.
func (d *deadlines) Push(r any) {
	q := r.(*infer.Request)
	q.Place.Index = len(*d)
	*d = append(*d, q)
}

// Pop is for container/heap.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	r := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return r
}
