package scheduler

import "triton/server/infer"

// noted is what the policy has found out about the requests in front of a line,
// so that an arrival behind them costs no second walk.
type noted struct {
	last *infer.Request // the last one looked at; nil: none, or one of them is not what it was
	memo any
}

// Note keeps a policy's memo of the requests from the front to last. Noted tells
// how far it is still true.
func (l *Line) Note(last *infer.Request, memo any) { l.noted = noted{last, memo} }

// Noted returns the memo of the last Note and the last request that it is about.
// last is nil when one of those requests has left, or another one has come before
// the last of them: then nothing in the memo is true any more.
func (l *Line) Noted() (last *infer.Request, memo any) { return l.noted.last, l.noted.memo }

// disturb forgets what is noted, unless r, which comes or leaves, stands behind
// that.
func (l *Line) disturb(r *infer.Request) {
	if last := l.noted.last; last != nil && !behind(&r.Place, &last.Place) {
		l.noted.last = nil
	}
}

// behind reports whether a request is served after another one of its line. Of two
// that have timed out it says no.
func behind(a, b *infer.Place) bool {
	switch {
	case a.Level != b.Level:
		return a.Level > b.Level
	case a.Delayed != b.Delayed:
		return a.Delayed
	case a.Delayed:
		return false
	}
	return a.Turn > b.Turn
}
