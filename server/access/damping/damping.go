// Package damping slows down callers that present wrong credentials: after some failures an
// address has to wait, and after each further failure twice as long.
package damping

import (
	"net/netip"
	"sync"
	"time"
)

const (
	maxSources = 4096
	firstWait  = time.Second
	maxWait    = time.Minute
	// forget is how long after its last failure an address starts anew.
	forget = 10 * time.Minute
)

// Table counts the failures of addresses. Its memory is bounded: when it is full, an old entry
// makes room.
type Table struct {
	free int // failures without a wait
	mu   sync.Mutex
	by   map[netip.Prefix]entry
}

type entry struct {
	failures int
	last     time.Time
	until    time.Time
}

// New returns a table that allows a number of failures before the first wait; 0: it never
// makes anybody wait.
func New(free int) *Table { return &Table{free: free, by: map[netip.Prefix]entry{}} }

// source returns what counts as one source: an IPv4 address, or the /64 network of an IPv6
// address, since a host has all addresses of it.
func source(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

// Wait returns how long an address has to wait before it may try again; 0 if it need not.
func (t *Table) Wait(a netip.Addr, now time.Time) time.Duration {
	if t.free == 0 || !a.IsValid() {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.by[source(a)].until.Sub(now), 0)
}

// Failed records a failure.
func (t *Table) Failed(a netip.Addr, now time.Time) {
	if t.free == 0 || !a.IsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := source(a)
	e, known := t.by[s]
	if now.Sub(e.last) > forget {
		e = entry{}
	}
	if !known && len(t.by) >= maxSources {
		t.evict()
	}
	e.failures++
	e.last = now
	if over := e.failures - t.free; over > 0 {
		e.until = now.Add(min(firstWait<<min(over-1, 10), maxWait))
	}
	t.by[s] = e
}

// evict removes the oldest of a few entries. Iteration begins at a random entry.
func (t *Table) evict() {
	var oldest netip.Prefix
	var at time.Time
	n := 0
	for s, e := range t.by {
		if n == 0 || e.last.Before(at) {
			oldest, at = s, e.last
		}
		if n++; n == 16 {
			break
		}
	}
	delete(t.by, oldest)
}

// Len returns the number of addresses that are remembered.
func (t *Table) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.by)
}
