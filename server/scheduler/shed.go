package scheduler

import (
	"time"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// Shed refuses requests of a queue that is overloaded for long, so that those which run are not
// answered late. A burst that is served soon is no overload: only a delay that stands is. The rule is
// that of controlled delay (CoDel), for each caller alone: if for an Interval even the shortest delay was
// above Target, then requests whose turn comes after more than Target are refused, until the shortest
// delay of an Interval is below half of Target. Times are in nanoseconds.
type Shed struct {
	Target   int64 // 0: nothing is refused
	Interval int64
}

// standing follows the shortest delay of a caller's requests.
type standing struct {
	shortest int64
	until    int64 // the end of the interval
	shed     bool
}

// excessive records the delay of a request whose turn has come, and reports whether to refuse it.
func (s *standing) excessive(delay, now int64, by Shed) bool {
	switch {
	case now >= s.until+by.Interval: // nothing came for an interval
		s.shed, s.shortest, s.until = false, delay, now+by.Interval
	case now >= s.until:
		if s.shed {
			s.shed = s.shortest >= by.Target/2
		} else {
			s.shed = s.shortest > by.Target
		}
		s.shortest, s.until = delay, now+by.Interval
	default:
		s.shortest = min(s.shortest, delay)
	}
	return s.shed && delay > by.Target
}

// empty records that nothing waits: no delay stands.
func (s *standing) empty() { s.shortest = 0 }

// evaluateAndShed is the policy's decision about the requests that remain.
func (q *PriorityQueue) evaluateAndShed(now int64) Decision {
	q.shedAt = now
	defer func() { q.shedAt = 0 }()
	if q.Front() == nil { // all were dropped
		return Decision{}
	}
	return q.policy.Evaluate(q, now, false)
}

// takeDropped moves the requests that the queue gave up to q.mu.dropped; unlockAndAnswer answers them.
func (q *Queue) takeDropped() {
	d := q.mu.waiting.Dropped()
	q.stats.Pending.Add(-int64(d.Len()))
	for _, l := range []struct{ from, to *infer.List }{{&d.Full, &q.mu.dropped.Full}, {&d.Shed, &q.mu.dropped.Shed}} {
		for r := l.from.Pop(); r != nil; r = l.from.Pop() {
			r.TakeFromQueue()
			l.to.Push(r)
		}
	}
}

// answerDropped answers requests that the queue gave up, without the lock.
func (q *Queue) answerDropped(d *Dropped) {
	for r := d.Full.Pop(); r != nil; r = d.Full.Pop() {
		q.fail(r, errFull(r), stats.Rejected)
	}
	for r := d.Shed.Pop(); r != nil; r = d.Shed.Pop() {
		q.stats.Shed(infer.Now() - r.Times.Received)
		r.Fail(q.errShed(r))
		r.Release()
	}
}

func (q *Queue) errShed(r *infer.Request) error {
	e := status.New(status.Unavailable, "%sModel '%s' is overloaded: no request of this caller has waited for less than %v lately; try again later",
		r.Tag(), r.ModelName, time.Duration(q.shed.Target))
	e.RetryAfter = time.Duration(q.shed.Interval)
	return e
}
