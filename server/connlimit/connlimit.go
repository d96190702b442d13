// Package connlimit bounds the connections of all ports of a server together, so that they leave
// file descriptors for model files and child processes. When the limit is reached, the connection
// that has been idle for the longest time makes room for a new one. It opens no ports and knows no
// protocol.
package connlimit

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Limit bounds connections. It is safe for concurrent use. A nil Limit bounds none.
type Limit struct {
	max int

	mu struct {
		sync.Mutex
		open   map[*Conn]struct{}
		oldest []candidate // idle connections to close next, sorted
	}
	evicted, refused, late atomic.Uint64
}

// candidate is a connection that was idle since a time.
type candidate struct {
	conn  *Conn
	since int64
}

// Conn is an open connection. A nil Conn is not bounded.
type Conn struct {
	limit *Limit
	close func()
	calls atomic.Int64 // requests in flight
	since atomic.Int64 // idle since then, in nanoseconds; removed
}

// removed is the time of a connection that is closed.
const removed = math.MaxInt64

// Reserve is how many connections Open admits above the limit for the ports that operators need
// when clients use all others: metrics and control.
const Reserve = 16

// New returns a limit of max connections; nil if max is not positive.
func New(max int) *Limit {
	if max <= 0 {
		return nil
	}
	l := &Limit{max: max}
	l.mu.open = map[*Conn]struct{}{}
	return l
}

// Max returns the limit; 0: none.
func (l *Limit) Max() int {
	if l == nil {
		return 0
	}
	return l.max
}

// Open admits a connection, which is idle at first, and reports whether there is room. If there
// is not, the connection that was idle for the longest time is closed: its close is called, on
// this goroutine. A connection with a request in flight is never closed. reserved connections may
// use the Reserve.
func (l *Limit) Open(closeConn func(), reserved bool) (c *Conn, ok bool) {
	if l == nil {
		return nil, true
	}
	c = &Conn{limit: l, close: closeConn}
	c.since.Store(time.Now().UnixNano())
	limit := l.max
	if reserved {
		limit += Reserve
	}
	l.mu.Lock()
	var victim *Conn
	if ok = len(l.mu.open) < limit; !ok {
		victim = l.evict()
		ok = victim != nil
	}
	if ok {
		l.mu.open[c] = struct{}{}
	}
	l.mu.Unlock()
	if !ok {
		l.refused.Add(1)
		return nil, false
	}
	if victim != nil {
		victim.close()
	}
	return c, true
}

// ShedAtOnce is how many idle connections are closed when file descriptors are exhausted.
const ShedAtOnce = 8

// Shed closes up to n of the connections that were idle for the longest time, and returns how many
// it closed.
func (l *Limit) Shed(n int) int {
	if l == nil {
		return 0
	}
	var victims []*Conn
	l.mu.Lock()
	for len(victims) < n {
		v := l.evict()
		if v == nil {
			break
		}
		victims = append(victims, v)
	}
	l.mu.Unlock()
	for _, v := range victims {
		v.close()
	}
	return len(victims)
}

// Evicted returns how many idle connections made room for others.
func (l *Limit) Evicted() uint64 {
	if l == nil {
		return 0
	}
	return l.evicted.Load()
}

// Refused returns how many connections found no room.
func (l *Limit) Refused() uint64 {
	if l == nil {
		return 0
	}
	return l.refused.Load()
}

// Late returns how many connections were closed because their clients did not send in time.
func (l *Limit) Late() uint64 {
	if l == nil {
		return 0
	}
	return l.late.Load()
}

// Len returns how many connections are open.
func (l *Limit) Len() int {
	if l == nil {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.mu.open)
}

// maxCandidates bounds the connections that one look at all of them finds for eviction, so that a
// flood costs one look for many new connections.
const maxCandidates = 256

// evict removes the connection that was idle for the longest time; nil if none is idle. The caller
// holds l.mu, and closes the connection.
func (l *Limit) evict() *Conn {
	for range 2 { // the second time with fresh candidates
		for len(l.mu.oldest) > 0 {
			first := l.mu.oldest[0]
			l.mu.oldest = l.mu.oldest[1:]
			c := first.conn
			if _, open := l.mu.open[c]; open && c.calls.Load() == 0 && c.since.CompareAndSwap(first.since, removed) {
				delete(l.mu.open, c)
				l.evicted.Add(1)
				return c
			}
		}
		l.collect()
	}
	return nil
}

// collect finds candidates. The caller holds l.mu.
func (l *Limit) collect() {
	var idle []candidate
	for c := range l.mu.open {
		if c.calls.Load() == 0 {
			idle = append(idle, candidate{c, c.since.Load()})
		}
	}
	slices.SortFunc(idle, func(a, b candidate) int { return cmp.Compare(a.since, b.since) })
	l.mu.oldest = slices.Clone(idle[:min(len(idle), maxCandidates)])
}

// Begin records that a request is in flight.
func (c *Conn) Begin() {
	if c != nil {
		c.calls.Add(1)
	}
}

// End records that a request has ended.
func (c *Conn) End() {
	if c != nil {
		c.Active()
		c.calls.Add(-1)
	}
}

// Active records that the connection was used just now.
func (c *Conn) Active() {
	if c == nil {
		return
	}
	if since := c.since.Load(); since != removed {
		c.since.CompareAndSwap(since, time.Now().UnixNano())
	}
}

// ShedOthers is Limit.Shed.
func (c *Conn) ShedOthers(n int) {
	if c != nil {
		c.limit.Shed(n)
	}
}

// Late records that the connection is closed because its client did not send in time.
func (c *Conn) Late() {
	if c != nil {
		c.limit.late.Add(1)
	}
}

// Close records that the connection is closed. Later calls do nothing.
func (c *Conn) Close() {
	if c == nil {
		return
	}
	c.since.Store(removed)
	c.limit.mu.Lock()
	delete(c.limit.mu.open, c)
	c.limit.mu.Unlock()
}
