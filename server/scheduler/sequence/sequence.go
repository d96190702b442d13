// Package sequence is the sequence batcher, the scheduler of models that keep state
// between requests: it keeps the requests of one sequence on one instance and in order,
// and adds the control inputs and the implicit states. A strategy decides which sequences
// share a batch: direct, where each sequence has a row of its own, or oldest, where those that waited longest go
// first.
package sequence

import (
	"strconv"

	"triton/pkg/tensor"
	"triton/server/infer"
)

// id is a correlation ID. A text never equals a number, and a generated ID never equals
// one that came with a request.
type id struct {
	number    uint64
	text      string
	generated bool
}

// idOf returns the correlation ID that came with a request.
func idOf(r *infer.Request) id { return id{number: r.SequenceID, text: r.SequenceIDStr} }

func (i id) String() string {
	if i.text != "" {
		return i.text
	}
	return strconv.FormatUint(i.number, 10)
}

// sequence holds the requests of one sequence. A sequence is known while new requests with
// its ID join it.
//
//	state            event                                     to
//	(none)           START finds a free slot                   slot, known
//	(none)           START finds no free slot                  backlog, known
//	backlog          a slot becomes free                       slot
//	backlog          timeout, or one of its requests is        ended
//	                 cancelled
//	known            END is enqueued                           not known
//	slot, known      idle too long, or one of its requests is  not known
//	                 cancelled
//	slot, not known  no request waits                          ended
//
// With direct, the last request of an ended sequence may still run, while another sequence
// already has the slot. With oldest, a sequence that is not known ends when the backend is
// done with its last request.
type sequence struct {
	id    id
	known bool // new requests with its ID join
	// waiting are its requests in order, without the one in the instance's queue.
	waiting  infer.List
	slot     *slot // nil in the backlog
	lastSeen int64 // when its last request arrived, by infer.Now
	deadline int64 // in the backlog; 0: none
	index    int   // in the heap of deadlines; -1: not in it
	links    [2]links

	refs   int // one for the slot or the backlog, one for each running request
	corrid *tensor.Buffer
	states *States // used by the holder of the instance slot; nil before the first request runs
}

// newSequence returns a sequence that is not known yet. The memory for its ID, corrid,
// moves in.
func (s *Source) newSequence(i id, corrid *tensor.Buffer) *sequence {
	var seq *sequence
	if n := len(s.mu.spare); n > 0 {
		seq, s.mu.spare = s.mu.spare[n-1], s.mu.spare[:n-1]
	} else {
		seq = &sequence{}
	}
	seq.id, seq.refs, seq.index = i, 1, -1
	if seq.corrid = corrid; corrid != nil {
		s.controls.writeID(corrid, i)
	}
	return seq
}

// register makes a sequence known: requests with its ID join it.
func (s *Source) register(seq *sequence, now int64) {
	seq.known, seq.lastSeen = true, now
	s.mu.known[seq.id] = seq
	s.mu.recent.push(seq)
	s.timer.Set(now + s.idleAfter)
}

// touch records that a known sequence is not idle.
func (s *Source) touch(seq *sequence, now int64) {
	if seq.known {
		seq.lastSeen = now
		s.mu.recent.remove(seq)
		s.mu.recent.push(seq)
	}
}

// unregister makes a sequence not known: later requests with its ID do not join it.
func (s *Source) unregister(seq *sequence) {
	if seq.known {
		seq.known = false
		delete(s.mu.known, seq.id)
		s.mu.recent.remove(seq)
	}
}

// maxSpare bounds how many sequences are kept for reuse.
const maxSpare = 1024

// release releases one reference to the sequence; the last one releases its memory.
func (s *Source) release(seq *sequence) {
	if seq.refs--; seq.refs > 0 {
		return
	}
	if seq.corrid != nil {
		seq.corrid.Release()
	}
	if seq.states != nil {
		seq.states.Close()
	}
	if len(s.mu.spare) < maxSpare {
		*seq = sequence{}
		s.mu.spare = append(s.mu.spare, seq)
	}
}

// links are the neighbors of a sequence in a list.
type links struct{ prev, next *sequence }

// The lists that a sequence may be in.
const (
	recentList = iota
	backlogList
)

// sequenceList is a list of sequences, linked through themselves.
type sequenceList struct {
	kind        int
	front, back *sequence
	n           int
}

func (c *sequenceList) push(seq *sequence) {
	seq.links[c.kind].prev = c.back
	if c.back == nil {
		c.front = seq
	} else {
		c.back.links[c.kind].next = seq
	}
	c.back = seq
	c.n++
}

func (c *sequenceList) remove(seq *sequence) {
	l := &seq.links[c.kind]
	if l.prev == nil {
		c.front = l.next
	} else {
		l.prev.links[c.kind].next = l.next
	}
	if l.next == nil {
		c.back = l.prev
	} else {
		l.next.links[c.kind].prev = l.prev
	}
	*l = links{}
	c.n--
}
