package cache

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"triton/server/infer"
)

// breakerPause is the time in nanoseconds for which the cache is not called after a failure. After it
// one call tries the cache again. Failures are logged at most once per pause.
const breakerPause = 1e9

// Breaker keeps requests from waiting for a cache that does not answer, and bounds how often its
// failures are logged. It is safe for concurrent use.
type Breaker struct {
	log        *slog.Logger
	what       string
	until      atomic.Int64 // by infer.Now; 0: the cache works
	lastLog    atomic.Int64 // time of the last message
	suppressed atomic.Int64 // messages suppressed since then
}

// NewBreaker returns the breaker of a cache that answers. what names the cache in the log.
func NewBreaker(log *slog.Logger, what string) *Breaker { return &Breaker{log: log, what: what} }

// Open reports whether calls are blocked now.
func (b *Breaker) Open() bool {
	until := b.until.Load()
	return until != 0 && infer.Now() < until
}

// Allows reports whether a call may be made: any call while the cache works, one per pause while
// it does not.
func (b *Breaker) Allows() bool {
	until := b.until.Load()
	if until == 0 {
		return true
	}
	now := infer.Now()
	return now >= until && b.until.CompareAndSwap(until, now+breakerPause)
}

// Succeed records that the cache answered.
func (b *Breaker) Succeed() {
	if b.until.Load() != 0 && b.until.Swap(0) != 0 {
		b.log.Info(fmt.Sprintf("response cache: %s answers again", b.what))
	}
}

// Fail blocks calls for a while and logs why.
func (b *Breaker) Fail(call string, err error) {
	b.until.Store(infer.Now() + breakerPause)
	b.report("failed; until it answers again, lookups miss and responses are not stored", call, err)
}

// Report logs the failure of one call, at a bounded rate.
func (b *Breaker) Report(call string, err error) { b.report("failed", call, err) }

func (b *Breaker) report(text, call string, err error) {
	now, last := infer.Now(), b.lastLog.Load()
	if last != 0 && now-last < breakerPause || !b.lastLog.CompareAndSwap(last, max(now, 1)) {
		b.suppressed.Add(1)
		return
	}
	b.log.Error(fmt.Sprintf("response cache: %s %s", b.what, text), "call", call, "error", err, "unreported", b.suppressed.Swap(0))
}
