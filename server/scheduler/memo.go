package scheduler

import "triton/server/infer"

// policyMemo is what the policy has computed about the first requests of a queue, so that
// an arrival behind them needs no second walk.
type policyMemo struct {
	last  *infer.Request // the last request covered; nil when the memo is invalid
	value any
}

// SetMemo keeps a policy's memo of the requests from the front to last.
func (q *PriorityQueue) SetMemo(last *infer.Request, memo any) { q.memo = policyMemo{last, memo} }

// Memo returns the memo of the last SetMemo and the last request that it covers. last is
// nil when one of those requests has left or another one has entered before the last of
// them: then the memo is invalid.
func (q *PriorityQueue) Memo() (last *infer.Request, memo any) { return q.memo.last, q.memo.value }

// invalidateMemo invalidates the memo, unless r, which enters or leaves, is behind the
// requests that it covers.
func (q *PriorityQueue) invalidateMemo(r *infer.Request) {
	if last := q.memo.last; last != nil && !servedAfter(&r.Position, &last.Position) {
		q.memo.last = nil
	}
}

// servedAfter reports whether a request is served after another one of its queue. Of two
// that have timed out it reports false.
func servedAfter(a, b *infer.Position) bool {
	switch {
	case a.Level != b.Level:
		return a.Level > b.Level
	case a.Delayed != b.Delayed:
		return a.Delayed
	case a.Delayed:
		return false
	}
	return a.Arrival > b.Arrival
}
