package admission

import (
	"math"
	"slices"
	"sync"
	"time"

	"triton/server/infer"
	"triton/server/scheduler"
)

// Estimate knows what runs and what batches cost, and from that when a new
// request could be answered.
type Estimate struct {
	mu       sync.Mutex
	maxRows  float64 // of a batch; 0: every request runs alone
	cost     cost
	requests float64 // per row, lately
	seats    []seat
	free     []int64 // scratch
}

// sure is how many standard deviations a request is to be early. Under overload
// whoever is let in is just early enough.
const sure = 2

// seat is an instance.
type seat struct {
	broken bool // takes no more batches
	busy   bool
	began  int64
	rows   int
}

var _ scheduler.Observer = (*Estimate)(nil)

// NewEstimate knows nothing yet of that many instances, whose batches have up to
// maxRows rows; 0 says that every request runs alone.
func NewEstimate(instances, maxRows int) *Estimate {
	return &Estimate{maxRows: float64(maxRows), seats: make([]seat, instances), free: make([]int64, 0, instances)}
}

// Began notes that an instance is busy.
func (e *Estimate) Began(n int, b *infer.Batch, now int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seats[n] = seat{busy: true, began: now, rows: b.Rows}
}

// Ended learns from a batch. One that failed says nothing of what others cost.
func (e *Estimate) Ended(n int, b *infer.Batch, did scheduler.Ran) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seats[n] = seat{broken: did.Broken}
	if did.Failed || b.Rows == 0 {
		return
	}
	e.cost.add(b.Rows, time.Duration(did.End-did.Begin))
	per := float64(len(b.Requests)) / float64(b.Rows)
	if e.cost.seen == 1 {
		e.requests = per
	}
	e.requests += (per - e.requests) * (1 - forget)
}

// Finish is when, by the clock of now, a request can be answered that waits behind
// that many others: in full batches before it, and in one of its own that others
// join as they lately did. False when that is not known: too little was seen, or nothing is to be waited
// for, so that the request shows what it takes.
func (e *Estimate) Finish(now int64, waiting, rows int) (int64, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cost.seen < enough || waiting == 0 && !e.allBusy() {
		return 0, false
	}
	free := e.free[:0]
	for i := range e.seats {
		s, at := &e.seats[i], now
		if s.broken {
			continue
		}
		if s.busy {
			at = max(now, s.began+int64(e.cost.of(float64(s.rows))))
		}
		free = append(free, at)
	}
	if len(free) == 0 {
		return 0, false
	}
	slices.Sort(free)
	each, full := e.batch()
	before := math.Floor(float64(waiting) / each)
	own := math.Mod(float64(waiting), each)/each*full + float64(rows)
	if own < full {
		own = min(max(own, e.cost.usual()), full)
	}
	turn := int(before)
	turns := turn / len(free)
	start := free[turn%len(free)] + int64(turns)*int64(e.cost.of(full))
	// The errors of the batch that runs, those ahead and the own add up as
	// independent ones do.
	margin := sure * math.Sqrt(float64(turns+2)) * float64(e.cost.noise())
	return start + int64(e.cost.of(own)) + int64(margin), true
}

// batch is how many requests and rows a full batch has.
func (e *Estimate) batch() (requests, rows float64) {
	if e.maxRows == 0 {
		return 1, 1 / e.requests
	}
	return max(e.maxRows*e.requests, 1), e.maxRows
}

func (e *Estimate) allBusy() bool {
	for i := range e.seats {
		if s := &e.seats[i]; !s.busy && !s.broken {
			return false
		}
	}
	return true
}
