package policy

import (
	"sync"
	"time"

	"triton/server/infer"
)

// Accounts has the accounts of all callers.
type Accounts struct {
	start time.Time
	clock func() time.Time

	mu       sync.RWMutex
	accounts map[accountKey]*account
	swept    time.Duration // when idle accounts were removed last
	sweepAt  int           // number of accounts at which idle ones are removed
	refusals refusals
}

// accountKey is one account: a shared limit has no names.
type accountKey struct {
	limit *Limit
	name  string
}

const (
	// minSweep is the least number of accounts at which idle ones are looked for.
	minSweep = 1024
	// maxAccounts is the number of accounts from which on further callers of a limit share one.
	maxAccounts = 65536
	// others is the name of that account, and of the callers that are counted together: principals have a
	// colon in their names.
	others = "other"
)

// NewAccounts returns an empty table. The clock is time.Now except in tests.
func NewAccounts(clock func() time.Time) *Accounts {
	return &Accounts{start: clock(), clock: clock, accounts: map[accountKey]*account{}, sweepAt: minSweep}
}

// now is the time since the table was made, so that steps of the clock change nothing.
func (t *Accounts) now() time.Duration { return t.clock().Sub(t.start) }

// Take admits a request of a caller, or says what it has to wait for. bytes are those that are known
// of the request. The lease of a request that was admitted is to be released.
func (t *Accounts) Take(l *Limit, who *Principal, bytes int64) (Lease, Refusal) {
	now := t.now()
	for {
		a := t.account(l, who.Name, now)
		r, ok := a.take(now, bytes)
		switch {
		case !ok:
			continue // it was removed in between; the next one is new
		case r.Quota != QuotaNone:
			t.refusals.count(a, r.Quota)
			return Lease{}, r
		}
		return Lease{a, t}, r
	}
}

// Peek says what a request would have to wait for, without admitting it.
func (t *Accounts) Peek(l *Limit, who *Principal) Refusal {
	now := t.now()
	a := t.account(l, who.Name, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.wait(now)
	if r.Quota != QuotaNone {
		t.refusals.count(a, r.Quota)
	}
	return r
}

// account returns the account of a caller.
func (t *Accounts) account(l *Limit, name string, now time.Duration) *account {
	k := accountKey{l, name}
	if l.Shared {
		k.name = ""
	}
	t.mu.RLock()
	a := t.accounts[k]
	t.mu.RUnlock()
	if a != nil {
		return a
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.accounts); n >= t.sweepAt && (n < maxAccounts || now-t.swept >= time.Second) {
		t.sweep(now)
	}
	if _, there := t.accounts[k]; !there && len(t.accounts) >= maxAccounts {
		k.name, name = others, others
	}
	if l.Shared {
		name = l.Callers()
	}
	if a = t.accounts[k]; a == nil {
		a = &account{Caller: infer.Caller{Weight: l.Weight, Class: l.Class}, limit: l, name: name}
		t.accounts[k] = a
	}
	return a
}

// sweep removes the accounts that forgetting does not change.
func (t *Accounts) sweep(now time.Duration) {
	for k, a := range t.accounts {
		a.mu.Lock()
		if a.removed = a.idle(now); a.removed {
			delete(t.accounts, k)
		}
		a.mu.Unlock()
	}
	t.swept, t.sweepAt = now, max(minSweep, min(2*len(t.accounts), maxAccounts))
}

// Use makes the accounts those of a new policy. Callers keep what they have used of limits that
// both policies have; of others they start anew.
func (t *Accounts) Use(p *Policy) {
	now := map[string]*Limit{}
	for l := range p.AllLimits() {
		if now[l.Text] == nil { // the first one counts
			now[l.Text] = l
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := make(map[accountKey]*account, len(t.accounts))
	for k, a := range t.accounts {
		a.mu.Lock()
		if l := now[a.limit.Text]; l != nil {
			a.limit, k.limit = l, l
			kept[k] = a
		} else {
			a.removed = true
		}
		a.mu.Unlock()
	}
	t.accounts = kept
}

// Len returns the number of accounts.
func (t *Accounts) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.accounts)
}
