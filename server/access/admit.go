package access

import (
	"context"
	"time"

	"triton/server/access/audit"
	"triton/server/access/policy"
)

// Entry is a call that was admitted. The zero value is that of a server without guard.
type Entry struct {
	slot   audit.Slot
	record audit.Record
	lease  policy.Lease
	limit  *policy.Limit // of the lease
}

// Admit decides about a call of the session and takes a place in the audit log for it.
func (s *Session) Admit(ctx context.Context, c *Call) (Entry, *Refusal) {
	g := s.guard
	if g == nil {
		return Entry{}, nil
	}
	if refusal := s.Check(ctx, c); refusal != nil {
		return Entry{}, refusal
	}
	e, refusal := s.take(c)
	if refusal != nil {
		return e, refusal
	}
	if g.records(c) {
		slot, ok := g.audit.Reserve()
		if !ok {
			g.unrecorded.Add(1)
			e.lease.Release()
			return Entry{}, errUnrecorded
		}
		e.slot, e.record = slot, s.record(c, "allowed")
	}
	g.admitted.Add(1)
	return e, nil
}

// Check decides about a call of the session, again if it was admitted and lasts. Only a refusal is
// recorded.
func (s *Session) Check(ctx context.Context, c *Call) *Refusal {
	if s.guard == nil {
		return nil
	}
	refusal := s.check(ctx, c)
	if refusal != nil {
		s.refused(c, refusal)
	}
	return refusal
}

// Again is Begin for the caller of a session that turns out to want another action.
func (s *Session) Again(ctx context.Context, call *Call) (Session, *Refusal) {
	return s.guard.Begin(ctx, s.caller, call)
}

// records reports whether a call is for the audit log. Calls that are open to all are not: they
// would fill it with the probes of load balancers.
func (g *Guard) records(c *Call) bool {
	if g.audit == nil {
		return false
	}
	p := g.rules.Load().policy
	if p == nil {
		return !c.Action.Probe()
	}
	return !p.Open(c.Action)
}

// refused counts and records a refusal.
func (s *Session) refused(c *Call, r *Refusal) {
	g := s.guard
	switch r.kind {
	case unauthenticated:
		g.unauthenticated.Add(1)
	case denied:
		g.denied.Add(1)
	case delayed:
		g.delayed.Add(1)
	case limited:
		g.limited.Add(1)
	}
	if g.audit != nil {
		record := s.record(c, kinds[r.kind].result)
		g.audit.Refused(&record)
	}
}

func (s *Session) record(c *Call, result string) audit.Record {
	return audit.Record{
		Time: s.guard.now(), Principal: s.Principal(), Source: s.caller.Address, Protocol: s.caller.Protocol,
		Method: c.Method, Action: c.Action.String(), Model: c.Model, Version: c.Version, Result: result,
	}
}

// End records the end of the call: the status of its reply, and the ID of the request. The call no
// longer counts as one in progress.
func (e *Entry) End(status, id string) {
	e.Lease().Release()
	if e.record.Result == "" {
		return
	}
	e.record.Status, e.record.ID, e.record.Duration = status, id, time.Since(e.record.Time)
	e.slot.Commit(&e.record)
	e.record = audit.Record{}
}

// Counts are numbers of calls by result, for metrics.
type Counts struct {
	Admitted, Unauthenticated, Denied, Delayed, Limited, Unrecorded int64
	// Dropped are records that are missing in the audit log, ReloadFailures readings of files
	// with mistakes, KeyFailures failed readings of keys for tokens.
	Dropped, ReloadFailures, KeyFailures int64
}

// Counts returns the counts since the start.
func (g *Guard) Counts() Counts {
	c := Counts{
		Admitted: g.admitted.Load(), Unauthenticated: g.unauthenticated.Load(), Denied: g.denied.Load(), Delayed: g.delayed.Load(),
		Limited: g.limited.Load(), Unrecorded: g.unrecorded.Load(), ReloadFailures: g.reloadFailures.Load(),
	}
	if g.audit != nil {
		c.Dropped = g.audit.Dropped()
	}
	if g.tokens != nil {
		c.KeyFailures = g.tokens.Failures()
	}
	return c
}
