package load

import (
	"math/rand/v2"
	"sync"

	"triton/pkg/client/lane"
)

// SequenceOptions configure the sequences of a load.
type SequenceOptions struct {
	// Prepared holds the request of each step of each stream of the data.
	Prepared [][]*lane.Prepared
	// Length is the number of requests of a sequence; 0 means one for each step of its
	// stream. Variation is the maximum random deviation, as a share of Length.
	Length    int
	Variation float64
	// The IDCount numbers from FirstID on are the IDs, which are used in turn.
	FirstID, IDCount uint64
	// Seed decides the lengths and the choice of streams.
	Seed uint64
}

// Sequences is a Source of sequences: each worker has one open sequence at a time, and sends
// its requests one after another.
type Sequences struct {
	options SequenceOptions

	mu struct {
		sync.Mutex
		rng  *rand.Rand
		next uint64 // number of the next ID
		used map[uint64]bool
		open map[int]*sequence // by worker
	}
}

var _ Source = (*Sequences)(nil)

// sequence is the newest sequence of a worker, open or ended.
type sequence struct {
	id           uint64
	stream       int
	length, left int // requests in all, and still to send
}

// NewSequences returns a source without open sequences.
func NewSequences(o SequenceOptions) *Sequences {
	s := &Sequences{options: o}
	s.mu.rng = rand.New(rand.NewPCG(o.Seed, 0))
	s.mu.used, s.mu.open = map[uint64]bool{}, map[int]*sequence{}
	return s
}

// Next sets r to the next request of the worker's sequence, or to the first one of a new
// sequence.
func (s *Sequences) Next(worker int, _ uint64, r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.mu.open[worker]
	if q == nil {
		q = &sequence{}
		s.mu.open[worker] = q
	}
	start := q.left == 0
	if start {
		s.begin(q)
	}
	s.set(r, q, start)
	q.left--
}

// Finish sets r to a last request of the worker's open sequence, however many are left.
func (s *Sequences) Finish(worker int, r *Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.mu.open[worker]
	if q == nil || q.left == 0 {
		return false
	}
	s.set(r, q, false)
	r.Sequence.End = true
	q.left = 0
	return true
}

func (s *Sequences) set(r *Request, q *sequence, start bool) {
	steps := s.options.Prepared[q.stream]
	r.Stream, r.Step = q.stream, (q.length-q.left)%len(steps)
	r.Prepared = steps[r.Step]
	r.Sequence = lane.Sequence{ID: q.id, Start: start, End: q.left == 1}
}

// begin starts a new sequence. If another worker uses the next ID, the sequence keeps the ID
// of the worker's sequence before; the first one of a worker takes the next ID that is free.
func (s *Sequences) begin(q *sequence) {
	o := &s.options
	id := s.nextID()
	for tries := len(s.mu.used); q.id == 0 && s.mu.used[id] && tries > 0; tries-- {
		id = s.nextID()
	}
	if q.id == 0 || !s.mu.used[id] {
		delete(s.mu.used, q.id)
		q.id = id
		s.mu.used[id] = true
	}
	q.stream = s.mu.rng.IntN(len(o.Prepared))
	q.length = o.Length
	if q.length == 0 {
		q.length = len(o.Prepared[q.stream])
	} else {
		spread := (2*s.mu.rng.Float64() - 1) * o.Variation * float64(o.Length)
		q.length = max(1, q.length+int(spread))
	}
	q.left = q.length
}

func (s *Sequences) nextID() uint64 {
	id := s.options.FirstID + s.mu.next%s.options.IDCount
	s.mu.next++
	return id
}
