package scheduler

import (
	"container/heap"
	"slices"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Policy says when waiting requests make a batch. It must not block and must
// not keep the line.
type Policy interface {
	// Next looks at the requests that wait, at least one, in the order in which
	// they are served, at the time now by infer.Now. With flush set nothing is
	// worth waiting for.
	Next(waiting *Line, now int64, flush bool) Cut
}

// Cut is a policy's answer: the first Count requests make a batch now or, when
// Count is 0, nothing is due before At unless the line changes. At is 0 when no
// passing of time makes a batch.
type Cut struct {
	Count int
	Why   stats.Close
	At    int64
}

// Direct is the policy without batching: every request alone, at once.
type Direct struct{}

// Next is the request in front.
func (Direct) Next(*Line, int64, bool) Cut {
	return Cut{Count: 1, Why: stats.Immediate}
}

// Line is the requests that wait, in the order in which they are served: by
// priority level, and in each level first those whose timeout has not passed,
// then those that wait on after theirs. It is the whole of a queue's decisions
// and has no lock, no goroutine and no clock: all times are given, in
// nanoseconds by infer.Now or any other clock.
type Line struct {
	policy    Policy
	rules     Rules
	levels    []*level // ascending; without priorities always one
	unused    []*level // a few that were empty
	deadlines deadlines
	n         int
	turn      uint64 // requests that ever came
	noted     noted
}

// spare is how many levels are kept for later: clients choose the numbers.
const spare = 16

// level is the requests of one priority. One that is empty does not stay.
type level struct {
	number          uint64
	rule            Rule
	active, delayed infer.List
}

// NewLine is an empty line.
func NewLine(p Policy, r Rules) *Line {
	l := &Line{policy: p, rules: r}
	if r.Levels == 0 {
		l.levels = []*level{{rule: r.Every}}
	}
	return l
}

// Push lets a request wait that comes now. The error says that its level is
// full. It sets r.Place.
func (l *Line) Push(r *infer.Request, now int64) error {
	v := l.level(l.rules.level(r.Priority))
	if v.rule.Limit > 0 && v.active.Len()+v.delayed.Len() >= v.rule.Limit {
		return status.New(status.Unavailable, "%sExceeds maximum queue size", r.Tag())
	}
	r.Place = infer.Place{Level: v.number, Since: now, Deadline: v.rule.deadline(r, now), Turn: l.turn}
	l.turn++
	l.disturb(r)
	v.active.Push(r)
	l.n++
	if r.Place.Deadline != 0 {
		heap.Push(&l.deadlines, r)
	}
	return nil
}

// Next is what the policy says of the requests that wait; the zero Cut when none
// does. Expire comes before it.
func (l *Line) Next(now int64, flush bool) Cut {
	if l.n == 0 {
		return Cut{}
	}
	return l.policy.Next(l, now, flush)
}

// Len is the number of requests.
func (l *Line) Len() int { return l.n }

// Front is the request that is served next; nil when none waits.
func (l *Line) Front() *infer.Request {
	for _, v := range l.levels {
		if r := v.front(); r != nil {
			return r
		}
	}
	return nil
}

// After is the request that is served after r; nil after the last.
func (l *Line) After(r *infer.Request) *infer.Request {
	if next := r.Next(); next != nil {
		return next
	}
	return l.afterList(r)
}

func (l *Line) afterList(r *infer.Request) *infer.Request {
	i, _ := l.find(r.Place.Level)
	if !r.Place.Delayed {
		if next := l.levels[i].delayed.Front(); next != nil {
			return next
		}
	}
	if i+1 < len(l.levels) {
		return l.levels[i+1].front()
	}
	return nil
}

// Pop takes the request in front out; nil when none waits.
func (l *Line) Pop() *infer.Request {
	for i, v := range l.levels {
		if r := v.front(); r != nil {
			l.take(i, r)
			return r
		}
	}
	return nil
}

// Remove takes a request out that waits in this line.
func (l *Line) Remove(r *infer.Request) {
	i, _ := l.find(r.Place.Level)
	l.take(i, r)
}

// take takes a request out of a level.
func (l *Line) take(i int, r *infer.Request) {
	l.disturb(r)
	v := l.levels[i]
	if r.Place.Deadline != 0 {
		heap.Remove(&l.deadlines, r.Place.Index)
	}
	if r.Place.Delayed {
		v.delayed.Remove(r)
	} else {
		v.active.Remove(r)
	}
	l.n--
	if l.rules.Levels > 0 && v.front() == nil {
		l.levels = slices.Delete(l.levels, i, i+1)
		if len(l.unused) < spare {
			l.unused = append(l.unused, v)
		}
	}
}

// level is the level of that number, made when it is not there.
func (l *Line) level(number uint64) *level {
	if l.rules.Levels == 0 {
		return l.levels[0]
	}
	i, ok := l.find(number)
	if ok {
		return l.levels[i]
	}
	v := &level{}
	if n := len(l.unused); n > 0 {
		v, l.unused = l.unused[n-1], l.unused[:n-1]
	}
	v.number, v.rule = number, l.rules.rule(number)
	l.levels = slices.Insert(l.levels, i, v)
	return v
}

// find is where a level stands, or would.
func (l *Line) find(number uint64) (int, bool) {
	if l.rules.Levels == 0 {
		return 0, true
	}
	return slices.BinarySearchFunc(l.levels, number, func(v *level, number uint64) int {
		switch {
		case v.number < number:
			return -1
		case v.number > number:
			return 1
		}
		return 0
	})
}

func (v *level) front() *infer.Request {
	if r := v.active.Front(); r != nil {
		return r
	}
	return v.delayed.Front()
}
