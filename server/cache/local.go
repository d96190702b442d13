package cache

import (
	"context"
	"sync"

	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// Local stores responses in this process, up to a number of bytes. It evicts the least
// recently used response first. One lock guards all entries, so that the size and the
// order are exact. It is held for about 0.1 µs.
type Local struct {
	pool *tensor.Pool
	size int64 // bytes

	mu struct {
		sync.Mutex
		entries map[Key]*entry
		ring    entry // head of the ring: next was used last, prev is evicted first
		counts  Counts
		closed  bool
	}
}

// Counts are the counters of a Local and its current size.
type Counts struct {
	Entries, Bytes, Size    int64
	Hits, Misses, Evictions uint64
	LookupTime, InsertTime  int64 // ns
}

var _ Cache = (*Local)(nil)

// NewLocal returns a cache of up to size bytes. It takes memory from the pool as
// responses are inserted.
func NewLocal(size int64, pool *tensor.Pool) *Local {
	l := &Local{pool: pool, size: size}
	l.mu.entries = map[Key]*entry{}
	l.mu.ring.next, l.mu.ring.prev = &l.mu.ring, &l.mu.ring
	l.mu.counts.Size = size
	return l
}

// Lookup fills the response from the entry and makes the entry the most recently used.
func (l *Local) Lookup(_ context.Context, k Key, into *infer.Response) bool {
	begin := infer.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.mu.entries[k]
	if e == nil {
		l.mu.counts.Misses++
	} else {
		l.mu.counts.Hits++
		l.unlink(e)
		l.link(e)
		e.fill(into) // under the lock: the entry may be evicted after it
	}
	l.mu.counts.LookupTime += infer.Now() - begin
	return e != nil
}

// Insert stores a response. It copies outputs without the lock.
func (l *Local) Insert(k Key, resp *infer.Response) error {
	begin := infer.Now()
	if l.has(k) {
		return ErrExists
	}
	if n := minSize(resp); n > l.size {
		return l.tooLarge(n)
	}
	e, err := newEntry(l.pool, k, resp)
	if err != nil {
		return err
	}
	if e.bytes > l.size {
		e.release()
		return l.tooLarge(e.bytes)
	}
	evicted, err := l.add(e, begin)
	if err != nil {
		e.release()
	}
	for e := evicted; e != nil; e = e.next {
		e.release()
	}
	return err
}

// minSize returns the smallest size in bytes that the entry of a response can have.
func minSize(resp *infer.Response) int64 {
	n := footprint(resp)
	for i := range resp.Outputs {
		n += int64(resp.Outputs[i].Data.Len())
	}
	return n
}

func (l *Local) tooLarge(n int64) error {
	return status.New(status.Internal, "Requested byte_size: %d is greater than total cache size: %d", n, l.size)
}

func (l *Local) has(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.entries[k] != nil
}

// add inserts an entry and returns a chain of the entries that were evicted for it.
func (l *Local) add(e *entry, begin int64) (evicted *entry, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.mu.closed:
		return nil, status.New(status.Unavailable, "the response cache is closed")
	case l.mu.entries[e.key] != nil:
		return nil, ErrExists
	}
	for l.mu.counts.Bytes+e.bytes > l.size {
		last := l.mu.ring.prev
		l.drop(last)
		l.mu.counts.Evictions++
		last.next, evicted = evicted, last
	}
	l.mu.entries[e.key] = e
	l.link(e)
	l.mu.counts.Bytes += e.bytes
	l.mu.counts.InsertTime += infer.Now() - begin
	return evicted, nil
}

func (l *Local) link(e *entry) {
	e.prev, e.next = &l.mu.ring, l.mu.ring.next
	e.prev.next, e.next.prev = e, e
}

func (l *Local) unlink(e *entry) { e.prev.next, e.next.prev = e.next, e.prev }

func (l *Local) drop(e *entry) {
	l.unlink(e)
	delete(l.mu.entries, e.key)
	l.mu.counts.Bytes -= e.bytes
}

// Counts returns a copy of the counters.
func (l *Local) Counts() Counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.mu.counts
	c.Entries = int64(len(l.mu.entries))
	return c
}

// Close releases all entries. Nothing is stored afterwards.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	for _, e := range l.mu.entries {
		l.drop(e)
		e.release()
	}
	return nil
}
