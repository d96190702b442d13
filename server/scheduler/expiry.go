package scheduler

import (
	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/stats"
)

// expire moves timed-out requests to q.mu.expired; unlockAndAnswer answers them.
func (q *Queue) expire(now int64) {
	if at := q.mu.waiting.Deadline(); at != 0 && at <= now {
		q.takeExpired(now)
	}
}

// takeExpired is the part of expire that is rarely needed, apart so that expire is inlined.
func (q *Queue) takeExpired(now int64) {
	var rejected infer.List
	q.mu.waiting.Expire(now, &rejected)
	q.stats.Pending.Add(-int64(rejected.Len()))
	for r := rejected.Pop(); r != nil; r = rejected.Pop() {
		r.TakeFromQueue()
		q.mu.expired.Push(r)
	}
}

// unlockAndAnswer releases q.mu, answers the timed-out requests and sets the timer for the next
// timeout.
func (q *Queue) unlockAndAnswer() {
	if !q.timer.Started() && q.mu.dropped.Len() == 0 { // no request can time out
		q.mu.Unlock()
		return
	}
	expired, dropped := q.mu.expired, q.mu.dropped
	q.mu.expired, q.mu.dropped = infer.List{}, Dropped{}
	if q.timer.Started() {
		q.timer.Set(q.mu.waiting.Deadline())
	}
	q.mu.Unlock()
	q.answerDropped(&dropped)
	for r := expired.Pop(); r != nil; r = expired.Pop() {
		q.fail(r, errExpired(), stats.Rejected)
	}
}

func errExpired() error { return status.New(status.Unavailable, "Request timeout expired") }

// onTimer answers timed-out requests, also while all instances are busy.
func (q *Queue) onTimer() {
	q.mu.Lock()
	q.timer.Fired()
	now := infer.Now()
	q.expire(now)
	q.unlockAndWake(now) // the remaining requests may be due
}
