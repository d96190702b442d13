package access

import (
	"net/netip"
	"sync"
	"time"
)

const (
	maxSources = 4096
	firstWait  = time.Second
	maxWait    = time.Minute
	// forgetFailures is how long after its last failure an address starts anew.
	forgetFailures = 10 * time.Minute
)

// damping counts the failures of addresses. Its memory is bounded: when it is full, an old entry
// makes room.
type damping struct {
	free int // failures without a wait
	mu   sync.Mutex
	by   map[netip.Prefix]failures
}

type failures struct {
	failures int
	last     time.Time
	until    time.Time
}

// newDamping returns a table that allows a number of failures before the first wait; 0: it never
// makes anybody wait.
func newDamping(free int) *damping { return &damping{free: free, by: map[netip.Prefix]failures{}} }

// sourceOf returns what counts as one source: an IPv4 address, or the /64 network of an IPv6
// address, since a host has all addresses of it.
func sourceOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits)
	return p
}

// Wait returns how long an address has to wait before it may try again; 0 if it need not.
func (t *damping) Wait(a netip.Addr, now time.Time) time.Duration {
	if t.free == 0 || !a.IsValid() {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.by[sourceOf(a)].until.Sub(now), 0)
}

// Failed records a failure.
func (t *damping) Failed(a netip.Addr, now time.Time) {
	if t.free == 0 || !a.IsValid() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s := sourceOf(a)
	e, known := t.by[s]
	if now.Sub(e.last) > forgetFailures {
		e = failures{}
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
func (t *damping) evict() {
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
func (t *damping) Len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.by)
}
