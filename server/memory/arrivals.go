package memory

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// patience is how long a small message may take to arrive without regard to others. After that it is
// stopped when its memory is needed: messages that never end would else take all memory that is kept
// for small requests.
const patience = time.Second

// Sender sends a message. Stop ends the wait for the rest of it. It is called once at most, and must
// not block.
type Sender interface{ Stop() }

// arrivals are the small messages that arrive while the memory is short, the oldest first.
type arrivals struct {
	mu      sync.Mutex
	waiting list.List
	returns int64 // bytes of messages that are stopped and have not ended
	stopped atomic.Int64
}

// Arrival is a message that arrives.
type Arrival struct {
	all     *arrivals
	from    Sender
	bytes   int
	began   time.Time
	element *list.Element // nil: stopped
}

// Arriving reports that a request that holds that many bytes waits for more of its message. The result
// is to be ended; it is nil if the memory is not short, or the request is not small.
func (b *Budget) Arriving(bytes int, from Sender) *Arrival {
	limit := b.Limit()
	if limit == 0 || bytes > Small || b.Total() <= limit-limit/smallShare {
		return nil
	}
	a := &Arrival{all: &b.arrivals, from: from, bytes: bytes, began: time.Now()}
	a.all.mu.Lock()
	a.element = a.all.waiting.PushBack(a)
	a.all.mu.Unlock()
	return a
}

// Arriving is Budget.Arriving for a request whose memory is in the charge.
func (c *Charge) Arriving(from Sender) *Arrival {
	if c.bytes == 0 || c.will > Small {
		return nil
	}
	return c.budget.Arriving(c.bytes, from)
}

// End ends the wait. The error says that the message was stopped: its memory is to be returned.
func (a *Arrival) End() error {
	if a == nil {
		return nil
	}
	a.all.mu.Lock()
	defer a.all.mu.Unlock()
	if a.element == nil {
		a.all.returns -= int64(a.bytes)
		return exhausted("the request was ended because it arrived slowly and the memory for requests (--request-memory-budget) is short; try again later")
	}
	a.all.waiting.Remove(a.element)
	return nil
}

// makeRoom counts n bytes of a small request in the place of messages that arrive slowly, and stops as
// many as that takes. Their memory comes back at once, but after this: until then more than the limit
// may be in use, at most what is kept for small requests.
func (b *Budget) makeRoom(n, limit int64) bool {
	l := &b.arrivals
	l.mu.Lock()
	defer l.mu.Unlock()
	count := func() bool { return b.count(n, limit+min(l.returns, limit/smallShare)) }
	return count() || l.stop(n) && count()
}

// stop stops the oldest messages that together hold n bytes. It stops none if those that have had
// their time hold less. The caller holds l.mu.
func (l *arrivals) stop(n int64) bool {
	now, held, last := time.Now(), int64(0), l.waiting.Front()
	for ; last != nil && held < n; last = last.Next() {
		a := last.Value.(*Arrival)
		if now.Sub(a.began) < patience {
			return false
		}
		held += int64(a.bytes)
	}
	if held < n {
		return false
	}
	for first := l.waiting.Front(); first != last; first = l.waiting.Front() {
		a := l.waiting.Remove(first).(*Arrival)
		a.element = nil
		a.from.Stop()
		l.stopped.Add(1)
	}
	l.returns += held
	return true
}

// Stopped returns how many messages were stopped.
func (b *Budget) Stopped() int64 { return b.arrivals.stopped.Load() }
