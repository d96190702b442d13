package redis

import (
	"fmt"
	"log/slog"
	"sync/atomic"

	"triton/server/infer"
)

// pause is the time in nanoseconds for which Redis is not called after a failure. After it
// one call tries Redis again. Failures are logged at most once per pause.
const pause = 1e9

// breaker keeps requests from waiting for a Redis that does not answer.
type breaker struct {
	log        *slog.Logger
	address    string
	until      atomic.Int64 // by infer.Now; 0: Redis works
	lastLog    atomic.Int64 // time of the last message
	suppressed atomic.Int64 // messages suppressed since then
}

// isOpen reports whether calls are blocked now.
func (b *breaker) isOpen() bool {
	until := b.until.Load()
	return until != 0 && infer.Now() < until
}

// allows reports whether a call may be made: any call while Redis works, one per pause
// while it does not.
func (b *breaker) allows() bool {
	until := b.until.Load()
	if until == 0 {
		return true
	}
	now := infer.Now()
	return now >= until && b.until.CompareAndSwap(until, now+pause)
}

func (b *breaker) recordSuccess() {
	if b.until.Load() != 0 && b.until.Swap(0) != 0 {
		b.log.Info(fmt.Sprintf("response cache: Redis at %s answers again", b.address))
	}
}

func (b *breaker) recordFailure(what string, err error) {
	b.until.Store(infer.Now() + pause)
	b.report(what, err)
}

// report logs a failure, at a bounded rate.
func (b *breaker) report(what string, err error) {
	now, last := infer.Now(), b.lastLog.Load()
	if last != 0 && now-last < pause || !b.lastLog.CompareAndSwap(last, max(now, 1)) {
		b.suppressed.Add(1)
		return
	}
	b.log.Error(fmt.Sprintf("response cache: Redis at %s failed; until it answers again, lookups miss and responses are not stored", b.address),
		"call", what, "error", err, "unreported", b.suppressed.Swap(0))
}
