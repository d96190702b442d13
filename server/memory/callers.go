package memory

import (
	"sync"
	"sync/atomic"
)

// A caller may hold as much as it leaves free: alone half of the limit, as one of n that take what they
// can get one part of n+1. So one part stays free for who comes next, however many there are. What it
// holds up to Small is never too much: it may be in the place of messages that were stopped, whose
// memory has not come back.

const (
	// minSweep is the least number of callers at which those without requests are looked for.
	minSweep = 1024
	// maxCallers is the number from which on further ones share a part.
	maxCallers = 65536
)

// callers are the callers that a budget knows.
type callers struct {
	mu      sync.RWMutex
	known   map[string]*Caller
	sweepAt int
	refused atomic.Int64
}

// Caller is what the requests of one caller use. A nil Caller counts nothing and has no share.
type Caller struct {
	budget *Budget
	used   atomic.Int64
	open   atomic.Int64 // calls between Enter and Leave
}

// Enter begins a call of a caller. Without a name the result is nil. Leave ends the call.
func (b *Budget) Enter(name string) *Caller {
	if b == nil || name == "" {
		return nil
	}
	l := &b.callers
	l.mu.RLock()
	c := l.known[name]
	if c != nil {
		c.open.Add(1) // before the end of the lock, so that sweep sees it
	}
	l.mu.RUnlock()
	if c != nil {
		return c
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c = l.add(b, name)
	c.open.Add(1)
	return c
}

// add returns a caller that may be new.
func (l *callers) add(b *Budget, name string) *Caller {
	if len(l.known) >= max(l.sweepAt, minSweep) {
		l.sweep()
	}
	if _, there := l.known[name]; !there && len(l.known) >= maxCallers {
		name = ""
	}
	c := l.known[name]
	if c == nil {
		if l.known == nil {
			l.known = map[string]*Caller{}
		}
		c = &Caller{budget: b}
		l.known[name] = c
	}
	return c
}

// sweep removes callers that have no calls and use nothing.
func (l *callers) sweep() {
	for name, c := range l.known {
		if c.open.Load() == 0 && c.used.Load() == 0 {
			delete(l.known, name)
		}
	}
	l.sweepAt = min(2*len(l.known), maxCallers)
}

// Leave ends a call. What it has counted may be returned later.
func (c *Caller) Leave() {
	if c != nil {
		c.open.Add(-1)
	}
}

// take counts n bytes, which the budget counts already, of a request that holds `holds` bytes.
func (c *Caller) take(k Kind, n, holds int) error {
	if c == nil {
		return nil
	}
	c.used.Add(int64(n))
	if !c.over() {
		return nil
	}
	c.used.Add(-int64(n))
	b := c.budget
	b.refused[k].Add(1)
	b.callers.refused.Add(1)
	limit := b.Limit()
	if int64(n+holds) > limit/2 {
		return tooLarge(n+holds, limit/2)
	}
	b.streams.shed(limit, c)
	return exhausted("no memory for %d bytes of the request: its caller uses %d bytes, and may use as much as it leaves free of %d bytes of --request-memory-budget; try again later",
		n, c.used.Load(), limit)
}

// add counts n bytes, which may be negative, without a limit.
func (c *Caller) add(n int) {
	if c != nil {
		c.used.Add(int64(n))
	}
}

// over reports whether the caller holds more than it leaves free.
func (c *Caller) over() bool {
	if c == nil {
		return false
	}
	limit := c.budget.Limit()
	return limit > 0 && c.used.Load() > max(limit-c.budget.Total(), Small)
}

// CallersRefused returns how many times memory was refused because a caller held its share.
func (b *Budget) CallersRefused() int64 { return b.callers.refused.Load() }
