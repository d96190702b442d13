package scheduler

import "triton/server/infer"

// policyMemo is what the policy has computed about the first requests of a queue. After an
// arrival behind them the policy continues from there and does not walk the queue again.
type policyMemo struct {
	last  *infer.Request // the last request covered; nil when the memo is invalid
	value any
}

// SetMemo keeps a policy's memo of the requests from the front to last.
func (q *PriorityQueue) SetMemo(last *infer.Request, memo any) { q.memo = policyMemo{last, memo} }

// Memo returns the memo of the last SetMemo and the last request that it covers. last is
// nil when the memo is invalid: a covered request has left, or a request has entered
// before last.
func (q *PriorityQueue) Memo() (last *infer.Request, memo any) { return q.memo.last, q.memo.value }

// invalidateMemo is called when r enters or leaves. It invalidates the memo, unless r is
// behind the requests that the memo covers.
func (q *PriorityQueue) invalidateMemo(r *infer.Request) {
	if last := q.memo.last; last != nil && !servedAfter(&r.Position, &last.Position) {
		q.memo.last = nil
	}
}

// servedAfter reports whether the request at a is served after the one at b. For two
// delayed requests of one level it returns false: their order is not known.
func servedAfter(a, b *infer.Position) bool {
	switch {
	case a.Level != b.Level:
		return a.Level > b.Level
	case a.Delayed != b.Delayed:
		return a.Delayed
	case a.Delayed:
		return false
	case a.Undecided: // b, which a policy has seen, is not
		return true
	}
	return a.Turn > b.Turn
}
