package quota

import (
	"sync"
	"time"

	"triton/server/access/policy"
	"triton/server/infer"
)

// Table has the accounts of all callers.
type Table struct {
	start time.Time
	clock func() time.Time

	mu       sync.RWMutex
	accounts map[key]*account
	swept    time.Duration // when idle accounts were removed last
	sweepAt  int           // number of accounts at which idle ones are removed
	refusals refusals
}

// key is one account: a shared limit has no names.
type key struct {
	limit *policy.Limit
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

// New returns an empty table. The clock is time.Now except in tests.
func New(clock func() time.Time) *Table {
	return &Table{start: clock(), clock: clock, accounts: map[key]*account{}, sweepAt: minSweep}
}

// now is the time since the table was made, so that steps of the clock change nothing.
func (t *Table) now() time.Duration { return t.clock().Sub(t.start) }

// Take lets a request of a caller in, or says what it has to wait for. bytes are those that are known
// of the request. The lease of a request that was let in is to be released.
func (t *Table) Take(l *policy.Limit, who *policy.Principal, bytes int64) (Lease, Refusal) {
	now := t.now()
	for {
		a := t.account(l, who.Name, now)
		r, ok := a.take(now, bytes)
		switch {
		case !ok:
			continue // it was removed in between; the next one is new
		case r.Quota != None:
			t.refusals.count(a, r.Quota)
			return Lease{}, r
		}
		return Lease{a, t}, r
	}
}

// Peek says what a request would have to wait for, without letting it in.
func (t *Table) Peek(l *policy.Limit, who *policy.Principal) Refusal {
	now := t.now()
	a := t.account(l, who.Name, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.wait(now)
	if r.Quota != None {
		t.refusals.count(a, r.Quota)
	}
	return r
}

// account returns the account of a caller.
func (t *Table) account(l *policy.Limit, name string, now time.Duration) *account {
	k := key{l, name}
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
func (t *Table) sweep(now time.Duration) {
	for k, a := range t.accounts {
		a.mu.Lock()
		if a.gone = a.idle(now); a.gone {
			delete(t.accounts, k)
		}
		a.mu.Unlock()
	}
	t.swept, t.sweepAt = now, max(minSweep, min(2*len(t.accounts), maxAccounts))
}

// Use makes the accounts those of a new policy. Callers keep what they have used of limits that
// both policies have; of others they start anew.
func (t *Table) Use(p *policy.Policy) {
	now := map[string]*policy.Limit{}
	for l := range p.AllLimits() {
		if now[l.Text] == nil { // the first one counts
			now[l.Text] = l
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := make(map[key]*account, len(t.accounts))
	for k, a := range t.accounts {
		a.mu.Lock()
		if l := now[a.limit.Text]; l != nil {
			a.limit, k.limit = l, l
			kept[k] = a
		} else {
			a.gone = true
		}
		a.mu.Unlock()
	}
	t.accounts = kept
}

// Len returns the number of accounts.
func (t *Table) Len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.accounts)
}
