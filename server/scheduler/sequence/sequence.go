// Package sequence is the scheduler of models that keep state between requests:
// it keeps the requests of one sequence on one instance and in their order, and
// tells the engine where in its sequence each request stands. Which sequences
// share a batch is decided by a strategy: direct, where each sequence has a row
// of its own, or oldest, where those that waited longest go first.
package sequence

import (
	"strconv"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// id is a correlation id. One that is a text is never one that is a number, and
// one that the server generated is never one that came with a request.
type id struct {
	number uint64
	text   string
	own    bool // generated
}

// idOf returns the id that came with a request.
func idOf(r *infer.Request) id { return id{number: r.SequenceID, text: r.SequenceIDStr} }

func (i id) String() string {
	if i.text != "" {
		return i.text
	}
	return strconv.FormatUint(i.number, 10)
}

// sequence is the requests of one sequence.
//
//	where             event                                        to
//	(none)            START finds a free slot                      slot, known
//	(none)            START finds none                             backlog, known
//	backlog           a slot becomes free                          slot
//	backlog           timeout, or a request of it is cancelled     over
//	known             END is enqueued                              not known
//	slot, known       idle too long, or a request is cancelled     not known
//	slot, not known   nothing waits any more                       over
//
// With direct, what is over may still run: its last request is in a batch, and
// another sequence has the slot. With oldest a sequence that is not known is over
// when the engine is done with its last request.
type sequence struct {
	id    id
	known bool // requests with its id join
	// waiting are its requests in their order, without the one that oldest has
	// handed over.
	waiting  infer.List
	slot     *slot // nil in the backlog
	seen     int64 // when its last request came, by infer.Now
	deadline int64 // of the backlog; 0: none
	index    int   // in the heap of deadlines, from 1; 0: not there
	links    [2]links

	uses   int // the slot or the backlog, and each request that runs
	corrid *tensor.Buffer
	states States // for whoever holds the seat; nil before the first request runs
}

// begin makes a sequence for a request that starts one; corrid is memory for its
// id, and moves in. The sequence is not known yet.
func (s *Source) begin(i id, corrid *tensor.Buffer) *sequence {
	var q *sequence
	if n := len(s.mu.spare); n > 0 {
		q, s.mu.spare = s.mu.spare[n-1], s.mu.spare[:n-1]
	} else {
		q = &sequence{}
	}
	q.id, q.uses = i, 1
	if q.corrid = corrid; corrid != nil {
		s.controls.writeID(corrid, i)
	}
	return q
}

// know lets requests with the sequence's id join.
func (s *Source) know(q *sequence, now int64) {
	q.known, q.seen = true, now
	s.mu.known[q.id] = q
	s.mu.recent.push(q)
	s.timer.Set(now + s.idleAfter)
}

// touch notes that a known sequence is not idle.
func (s *Source) touch(q *sequence, now int64) {
	if q.known {
		q.seen = now
		s.mu.recent.remove(q)
		s.mu.recent.push(q)
	}
}

// forget ends the sequence for requests that come later.
func (s *Source) forget(q *sequence) {
	if q.known {
		q.known = false
		delete(s.mu.known, q.id)
		s.mu.recent.remove(q)
	}
}

// spares bounds how many sequences are kept for reuse.
const spares = 1024

// unuse gives up one use of the sequence; with the last one its memory goes.
func (s *Source) unuse(q *sequence) {
	if q.uses--; q.uses > 0 {
		return
	}
	if q.corrid != nil {
		q.corrid.Release()
	}
	if q.states != nil {
		q.states.Close()
	}
	if len(s.mu.spare) < spares {
		*q = sequence{}
		s.mu.spare = append(s.mu.spare, q)
	}
}

// links are the neighbors of a sequence in a chain.
type links struct{ prev, next *sequence }

// The chains that a sequence may stand in.
const (
	recent = iota
	waiting
)

// chain is a list of sequences, linked through themselves.
type chain struct {
	of          int
	front, back *sequence
	n           int
}

func (c *chain) push(q *sequence) {
	q.links[c.of].prev = c.back
	if c.back == nil {
		c.front = q
	} else {
		c.back.links[c.of].next = q
	}
	c.back = q
	c.n++
}

func (c *chain) remove(q *sequence) {
	l := &q.links[c.of]
	if l.prev == nil {
		c.front = l.next
	} else {
		l.prev.links[c.of].next = l.next
	}
	if l.next == nil {
		c.back = l.prev
	} else {
		l.next.links[c.of].prev = l.prev
	}
	*l = links{}
	c.n--
}
