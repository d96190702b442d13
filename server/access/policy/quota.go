// Quotas count what callers use and tell who has to wait: requests, rows and bytes per second, and
// requests in progress. Rates are token buckets, kept as the time at which the bucket will be full
// again: nothing has to be refilled, and a bucket that is full need not be remembered.

package policy

import (
	"math"
	"sync"
	"time"

	"triton/server/infer"
)

// Quota is one quantity that is limited.
type Quota uint8

// The quotas.
const (
	QuotaNone Quota = iota
	QuotaRequests
	QuotaRows
	QuotaBytes
	QuotaConcurrent
)

// String returns the name in headers and metrics.
func (q Quota) String() string {
	return [...]string{"", "requests", "rows", "bytes", "concurrent"}[q]
}

// account is what the requests of a caller, or of all callers of a limit, have used.
type account struct {
	infer.Caller
	limit *Limit
	name  string // for metrics

	mu sync.Mutex
	// requests, rows and bytes are when the buckets will be full again.
	requests, rows, bytes time.Duration
	open                  int  // requests in progress
	removed               bool // the table no longer has it
}

// Lease is a request that was admitted. The zero value is one that nobody counts.
type Lease struct {
	account *account
	table   *Accounts
}

// Refusal is what a caller has used up.
type Refusal struct {
	Quota Quota // QuotaNone: the request is admitted
	// Wait is when to try again.
	Wait  time.Duration
	Limit *Limit
}

// take admits a request, unless it has to wait. It reports false if the table no longer has the account.
//
// A request costs one of the limit's requests, and is admitted if that much is there. How many rows and bytes it
// has is often known only later. It is admitted as long as any are left, and may use more: what
// the caller owes then keeps it out until it is paid back. So no request is too large for a quota.
func (a *account) take(now time.Duration, bytes int64) (Refusal, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.removed {
		return Refusal{}, false
	}
	l := a.limit
	if r := a.wait(now); r.Quota != QuotaNone {
		return r, true
	}
	a.requests = spend(a.requests, now, 1, l.Requests)
	a.bytes = spend(a.bytes, now, float64(bytes), l.Bytes)
	a.open++
	return Refusal{}, true
}

// pause is what a caller with too many requests in progress is told to wait: nobody knows when one of
// them ends.
const pause = 100 * time.Millisecond

// wait returns what the next request has to wait for. With two reasons it is the longer one.
func (a *account) wait(now time.Duration) (r Refusal) {
	l := a.limit
	longer := func(q Quota, wait time.Duration) {
		if wait > r.Wait {
			r = Refusal{Quota: q, Wait: wait, Limit: l}
		}
	}
	if l.Concurrent > 0 && a.open >= l.Concurrent {
		longer(QuotaConcurrent, pause)
	}
	if l.Requests > 0 {
		one := duration(1 / l.Requests)
		longer(QuotaRequests, a.requests+one-now-max(l.Burst, one))
	}
	if l.Rows > 0 {
		longer(QuotaRows, a.rows-now-l.Burst+1)
	}
	if l.Bytes > 0 {
		longer(QuotaBytes, a.bytes-now-l.Burst+1)
	}
	return r
}

// spend returns when a bucket will be full again after n were taken out.
func spend(full, now time.Duration, n, rate float64) time.Duration {
	if rate == 0 {
		return 0
	}
	return min(max(full, now)+duration(n/rate), now+2*longest)
}

// longest bounds what one request may cost, and what a caller may owe beyond its burst, however many
// requests are charged at once: after that it has paid for everything.
const longest = time.Hour

func duration(seconds float64) time.Duration {
	return min(time.Duration(math.Min(seconds, longest.Seconds())*float64(time.Second)), longest)
}

// idle reports whether forgetting the account changes nothing.
func (a *account) idle(now time.Duration) bool {
	return a.open == 0 && a.requests <= now && a.rows <= now && a.bytes <= now
}

// Charge counts rows and bytes that were not known when the request was admitted.
func (l Lease) Charge(rows int, bytes int64) {
	a := l.account
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.limit.Rows == 0 && a.limit.Bytes == 0 {
		return
	}
	now := l.table.now()
	a.rows = spend(a.rows, now, float64(rows), a.limit.Rows)
	if bytes > 0 {
		a.bytes = spend(a.bytes, now, float64(bytes), a.limit.Bytes)
	}
}

// Caller returns on whose behalf queues count the request; nil for a request that nobody counts.
func (l Lease) Caller() *infer.Caller {
	if l.account == nil {
		return nil
	}
	return &l.account.Caller
}

// Release ends the request.
func (l Lease) Release() {
	if a := l.account; a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.open--
	}
}
