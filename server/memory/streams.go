package memory

import (
	"sync"
	"sync/atomic"
)

// A stream holds the responses that its client has not read. When the memory is short, the stream
// that holds most is cancelled: its client is the one that reads least.
const (
	// streamShare is the part of the limit that all streams may hold.
	streamShare = 2
	// manyBytes is what a stream must hold before it is a candidate.
	manyBytes = 1 << 20
)

// streams are the streams that hold many bytes.
type streams struct {
	mu        sync.Mutex
	many      map[*Stream]struct{}
	cancelled atomic.Int64
}

// Stream counts the responses that one stream holds. The caller synchronizes calls.
type Stream struct {
	budget *Budget
	caller *Caller
	cancel func()
	bytes  atomic.Int64
	listed bool
	ended  bool
}

// NewStream returns the count of a stream of a caller, which may be nil. cancel drops what the stream
// holds; it is called once at most, on a goroutine of its own, also after End.
func (b *Budget) NewStream(of *Caller, cancel func()) *Stream {
	return &Stream{budget: b, caller: of, cancel: cancel}
}

// Set records what the stream holds. It counts as replies besides the tensors: many responses have
// hardly any data.
func (s *Stream) Set(bytes int) {
	if s == nil || s.budget == nil || s.ended {
		return
	}
	more := bytes - int(s.bytes.Swap(int64(bytes)))
	s.budget.Add(Replies, more)
	s.caller.add(more)
	if bytes < manyBytes || s.listed {
		return
	}
	s.listed = true
	all := &s.budget.streams
	all.mu.Lock()
	if all.many == nil {
		all.many = map[*Stream]struct{}{}
	}
	all.many[s] = struct{}{}
	all.mu.Unlock()
}

// Grown reports that the stream holds more, and cancels the largest stream if all hold too much, or
// the largest of the caller if that one does.
func (s *Stream) Grown(bytes int) {
	s.Set(bytes)
	if s == nil || s.budget == nil || bytes < manyBytes {
		return
	}
	b := s.budget
	limit := b.Limit()
	if s.caller.over() {
		b.streams.shed(limit, s.caller)
		return
	}
	if limit == 0 || b.Total() <= limit-limit/4 && b.streams.total() <= limit/streamShare {
		return
	}
	b.streams.shed(limit, nil)
}

// End ends the stream.
func (s *Stream) End() {
	if s == nil {
		return
	}
	s.Set(0)
	if s.ended = true; !s.listed {
		return
	}
	s.listed = false
	all := &s.budget.streams
	all.mu.Lock()
	delete(all.many, s)
	all.mu.Unlock()
}

// Cancelled returns how many streams were cancelled.
func (b *Budget) Cancelled() int64 { return b.streams.cancelled.Load() }

func (l *streams) total() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := int64(0)
	for s := range l.many {
		n += s.bytes.Load()
	}
	return n
}

// shed cancels the stream that holds most, of a caller unless that is nil, if that is a relevant part
// of the limit.
func (l *streams) shed(limit int64, of *Caller) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var largest *Stream
	for s := range l.many {
		if of != nil && s.caller != of {
			continue
		}
		if largest == nil || s.bytes.Load() > largest.bytes.Load() {
			largest = s
		}
	}
	if largest == nil || largest.bytes.Load() < max(manyBytes, limit/64) {
		return
	}
	delete(l.many, largest)
	l.cancelled.Add(1)
	go largest.cancel()
}
