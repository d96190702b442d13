package scheduler

import (
	"triton/pkg/status"
	"triton/server/infer"
)

// Dropped are requests that a queue has given up while it served others.
type Dropped struct {
	Full infer.List // for a caller who uses less of a full queue
	Shed infer.List // they have waited too long
}

// Len returns their number.
func (d *Dropped) Len() int { return d.Full.Len() + d.Shed.Len() }

// Dropped returns the requests that were given up; the caller of the queue's methods takes them
// out of the lists.
func (q *PriorityQueue) Dropped() *Dropped { return &q.dropped }

// takesTurns reports whether a request that enters a level waits for its turn, and makes turns
// of the level if it is the first one that does.
func (q *PriorityQueue) takesTurns(v *level, r *infer.Request) bool {
	if !q.rules.Fair || r.Caller == nil && q.rules.Shed.Target == 0 && (v.turns == nil || v.turns.n == 0) {
		return false
	}
	if v.turns == nil {
		v.turns = &turns{}
	}
	return true
}

// append puts a request behind those whose turn was given.
func (q *PriorityQueue) append(v *level, r *infer.Request) {
	r.Position.Turn = q.turnsGiven
	q.turnsGiven++
	q.invalidateMemo(r)
	v.active.Push(r)
}

// front returns the request of a level that is served next; nil when none waits.
func (q *PriorityQueue) front(v *level) *infer.Request {
	if r := v.active.Front(); r != nil {
		return r
	}
	if v.turns != nil {
		if r := q.giveTurn(v); r != nil {
			return r
		}
	}
	return v.delayed.Front()
}

// giveTurn appends the request whose turn is next to those whose turn was given, and returns it;
// nil when none waits for its turn.
func (q *PriorityQueue) giveTurn(v *level) *infer.Request {
	for {
		c, f := v.turns.first()
		if f == nil {
			return nil
		}
		if q.shedAt != 0 && f.delay.excessive(q.shedAt-f.waiting.Front().Position.Since, q.shedAt, q.rules.Shed) {
			q.drop(f.waiting.Front(), &q.dropped.Shed)
			continue
		}
		r := v.turns.next(c, f)
		q.append(v, r)
		return r
	}
}

// drop gives up a request.
func (q *PriorityQueue) drop(r *infer.Request, to *infer.List) {
	q.Remove(r)
	to.Push(r)
}

// makeRoom drops a request for r, whose level is full: the last one of the caller who uses most of
// it for its weight, if r's caller, with r, uses less.
func (q *PriorityQueue) makeRoom(v *level, r *infer.Request) bool {
	if !q.rules.Fair || v.turns == nil {
		return false
	}
	own := classOf(r)
	for i := len(v.turns.classes) - 1; i >= own; i-- {
		f := v.turns.classes[i].largest()
		if f != nil && (i > own || v.turns.classes[own].usesLess(r.Caller, f)) {
			last := f.waiting.Back()
			q.unlink(v, last)
			q.dropped.Full.Push(last)
			return true
		}
	}
	return false
}

func errFull(r *infer.Request) error {
	return status.New(status.Unavailable, "%sExceeds maximum queue size", r.Tag())
}
