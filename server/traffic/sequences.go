package traffic

import (
	"container/list"
	"sync"
	"time"

	"triton/server/infer"
)

// sequences remembers which version each open sequence of a name is on. It forgets a sequence at its
// end, when it is idle for longer than its model allows, and the longest idle ones when there are too
// many.
type sequences struct {
	mu   sync.Mutex
	open map[sequenceID]*list.Element
	idle list.List // of *sequence, the longest idle first
	max  int       // for tests; 0: maxSequences
}

// maxSequences bounds the memory of a name: about 300 bytes for each.
const maxSequences = 1 << 16

// sequenceID is a correlation ID. The text is empty for a number.
type sequenceID struct {
	number uint64
	text   string
}

type sequence struct {
	id             sequenceID
	model, version string
	used           time.Time
	limit          time.Duration // idle time
}

// minIdle is the minimum time for which an idle sequence is remembered. To remember a sequence that
// its scheduler has ended does no harm: its next request fails on every version.
const minIdle = time.Minute

// maxIdleMicros bounds the idle time that a model can ask for: a day.
const maxIdleMicros = 24 * 3600 * 1e6

func idOf(r *infer.Request) sequenceID {
	if r.SequenceIDStr != "" {
		return sequenceID{text: r.SequenceIDStr}
	}
	return sequenceID{number: r.SequenceID}
}

// find returns the version of an open sequence. A request that starts one finds none.
func (s *sequences) find(r *infer.Request, now time.Time) (model, version string, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	if r.SequenceStart {
		return "", "", false
	}
	e := s.open[idOf(r)]
	if e == nil {
		return "", "", false
	}
	q := e.Value.(*sequence)
	q.used = now
	s.idle.MoveToBack(e)
	if r.SequenceEnd {
		s.remove(e)
	}
	return q.model, q.version, true
}

// put remembers the version of a sequence, unless the request is also its last.
func (s *sequences) put(r *infer.Request, m infer.Model, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := idOf(r)
	if e := s.open[id]; e != nil {
		s.remove(e)
	}
	if r.SequenceEnd {
		return
	}
	if s.open == nil {
		s.open = map[sequenceID]*list.Element{}
	}
	allowed := min(m.Config().GetSequenceBatching().GetMaxSequenceIdleMicroseconds(), maxIdleMicros)
	limit := max(2*time.Duration(allowed)*time.Microsecond, minIdle)
	s.open[id] = s.idle.PushBack(&sequence{id, m.Name(), m.Version(), now, limit})
	bound := s.max
	if bound == 0 {
		bound = maxSequences
	}
	for len(s.open) > bound {
		s.remove(s.idle.Front())
	}
}

// expire forgets sequences that are idle for too long.
func (s *sequences) expire(now time.Time) {
	for e := s.idle.Front(); e != nil; e = s.idle.Front() {
		if q := e.Value.(*sequence); now.Sub(q.used) <= q.limit {
			return
		}
		s.remove(e)
	}
}

func (s *sequences) remove(e *list.Element) {
	delete(s.open, e.Value.(*sequence).id)
	s.idle.Remove(e)
}

// count returns the number of open sequences.
func (s *sequences) count(now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	return len(s.open)
}
