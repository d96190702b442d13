package access

import (
	"fmt"
	"strings"
	"time"

	"triton/server/access/policy"
	"triton/server/infer"
)

// take counts a call of inference in the quotas of its caller, or refuses it.
func (s *Session) take(c *Call) (Entry, *Refusal) {
	r := s.guard.rules.Load()
	if c.Action != policy.ActionInfer || r.policy == nil {
		return Entry{}, nil
	}
	l := r.policy.Limit(s.who, c.Model, c.Version)
	if l == nil {
		return Entry{}, nil
	}
	lease, over := s.guard.quotas.Take(l, s.who, c.Bytes)
	if over.Quota != policy.QuotaNone {
		refusal := s.over(over, c.Model)
		s.refused(c, refusal)
		return Entry{}, refusal
	}
	return Entry{lease: lease, limit: l}, nil
}

// RefuseUnread refuses a call of inference whose model is not known yet, if its caller has used up a quota that
// is the same for all models. Then nothing of the call need be read.
func (s *Session) RefuseUnread(c *Call) *Refusal {
	if s.guard == nil {
		return nil
	}
	r := s.guard.rules.Load()
	if r.policy == nil {
		return nil
	}
	l := r.policy.Limit(s.who, "", "")
	if l == nil {
		return nil
	}
	over := s.guard.quotas.Peek(l, s.who)
	if over.Quota == policy.QuotaNone {
		return nil
	}
	refusal := s.over(over, "")
	s.refused(c, refusal)
	return refusal
}

// over makes the refusal of a caller that has used up a quota.
func (s *Session) over(over policy.Refusal, model string) *Refusal {
	l, r := over.Limit, &Refusal{kind: limited, RetryAfter: over.Wait}
	var what string
	switch over.Quota {
	case policy.QuotaRequests:
		what = fmt.Sprintf("%g requests per second", l.Requests)
	case policy.QuotaRows:
		what = fmt.Sprintf("%g rows per second", l.Rows)
	case policy.QuotaBytes:
		what = fmt.Sprintf("%g bytes per second", l.Bytes)
	case policy.QuotaConcurrent:
		what = fmt.Sprintf("%d concurrent requests", l.Concurrent)
	}
	whose := s.who.Name
	if l.Shared {
		whose += " and others"
	}
	of := ""
	if model != "" {
		of = " for model '" + strings.ToValidUTF8(model, "?") + "'"
	}
	r.Msg = fmt.Sprintf("the limit of %s of %s%s is reached; try again in %v", what, whose, of, roundUp(over.Wait))
	r.RateLimit, r.RateLimitPolicy = string(over.AppendUsedUp(nil)), string(policy.AppendRateLimitPolicy(nil, l))
	return r
}

// roundUp rounds a time up to milliseconds, so that who waits that long need not wait again.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Spend counts the rows of the call's request, and bytes that were not known when it was admitted.
func (e *Entry) Spend(rows int, bytes int64) { e.lease.Charge(rows, bytes) }

// Caller returns on whose behalf queues count the request; nil: nobody counts it.
func (e *Entry) Caller() *infer.Caller { return e.lease.Caller() }

// Lease returns what counts the call as one in progress, for calls whose request lasts longer than
// the entry. It is to be released.
func (e *Entry) Lease() policy.Lease {
	l := e.lease
	e.lease = policy.Lease{}
	return l
}

// RateLimit returns the values of the header fields RateLimit and RateLimit-Policy; empty if the
// caller has no quotas.
func (e *Entry) RateLimit() (state, quotas string) {
	if e.limit == nil {
		return "", ""
	}
	var buf [256]byte
	b := policy.AppendRateLimitPolicy(buf[:0], e.limit)
	n := len(b)
	if n == 0 {
		return "", ""
	}
	b = e.lease.AppendState(b)
	both := string(b)
	return both[n:], both[:n]
}

// Refused returns how many requests were refused for the quotas of their callers.
func (g *Guard) Refused() []policy.Refused { return g.quotas.Refused() }

// Limits reports whether callers have quotas.
func (g *Guard) Limits() bool {
	p := g.rules.Load().policy
	return p != nil && p.Limits()
}
