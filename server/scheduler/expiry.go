package scheduler

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// look is the policy's decision; what has timed out leaves before.
func (q *Queue) look(now int64) Cut {
	q.expire(now)
	if q.mu.hold > 0 {
		if q.mu.line.Len() < q.mu.hold && !q.mu.closed {
			return Cut{}
		}
		q.mu.hold = 0
	}
	return q.mu.line.Next(now, q.mu.closed)
}

// lookNow is look at this moment, which it does not ask for when nothing waits.
func (q *Queue) lookNow() (cut Cut, now int64) {
	if q.mu.line.Len() == 0 {
		return Cut{}, 0
	}
	now = infer.Now()
	return q.look(now), now
}

// expire puts aside what has timed out, for unlock to answer.
func (q *Queue) expire(now int64) {
	if at := q.mu.line.Deadline(); at != 0 && at <= now {
		q.reject(now)
	}
}

func (q *Queue) reject(now int64) {
	var rejected infer.List
	q.mu.line.Expire(now, &rejected)
	q.stats.Pending.Add(-int64(rejected.Len()))
	for r := rejected.Pop(); r != nil; r = rejected.Pop() {
		r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
		q.mu.expired.Push(r)
	}
}

// unlock also answers what has timed out and sets the timer for the next.
func (q *Queue) unlock() {
	if !q.timer.Started() { // nothing can
		q.mu.Unlock()
		return
	}
	expired := q.mu.expired
	q.mu.expired = infer.List{}
	q.timer.Set(q.mu.line.Deadline())
	q.mu.Unlock()
	for r := expired.Pop(); r != nil; r = expired.Pop() {
		q.fail(r, errExpired(), stats.Rejected)
	}
}

func errExpired() error { return status.New(status.Unavailable, "Request timeout expired") }

// expireNow is the timer's: requests are answered when they time out, also
// while all instances are busy.
func (q *Queue) expireNow() {
	q.mu.Lock()
	q.timer.Rang()
	now := infer.Now()
	q.expire(now)
	q.unlockAndWake(now) // what is left may be due
}
