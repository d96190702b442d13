package scheduler

import (
	"slices"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/stats"
)

var _ Policy = (*DynamicBatching)(nil)

// DynamicBatching is the policy of the dynamic batcher: how many of the waiting requests make the next
// batch, and when. It is a pure function of the queue and the time. The result of the walk over the
// first requests is stored in the queue, so that an arrival costs the same for small and for large
// batches.
type DynamicBatching struct {
	preferred   []int // ascending
	largest     int   // of preferred; 0 when there are none
	maxBatch    int
	delay       atomic.Int64 // ns
	equalInputs EqualInputs
	strategy    BatchStrategy // nil: none
}

// BatchStrategy decides which requests join a batch, in addition to the sizes and shapes. The policy
// calls it under the queue's lock.
type BatchStrategy interface {
	// Begin begins a batch, and ends the one before.
	Begin()
	// Include reports whether a request joins. The first request of a batch joins in any case.
	Include(r *infer.Request) bool
}

// SetStrategy sets the strategy before the policy is used.
func (p *DynamicBatching) SetStrategy(s BatchStrategy) { p.strategy = s }

// NewDynamicBatching reads the policy from a configuration with dynamic_batching.
func NewDynamicBatching(cfg *inferencepb.ModelConfig) *DynamicBatching {
	d := cfg.GetDynamicBatching()
	p := &DynamicBatching{
		maxBatch:    int(cfg.GetMaxBatchSize()),
		equalInputs: NewEqualInputs(cfg),
	}
	p.delay.Store(Micros(d.GetMaxQueueDelayMicroseconds()))
	for _, n := range d.GetPreferredBatchSize() {
		p.preferred = append(p.preferred, int(n))
	}
	if len(p.preferred) == 0 && p.maxBatch > 0 {
		p.preferred = []int{p.maxBatch}
	}
	slices.Sort(p.preferred)
	if n := len(p.preferred); n > 0 {
		p.largest = p.preferred[n-1]
	}
	return p
}

// SetDelay changes the queue delay from the next decision on. Any goroutine may call it.
func (p *DynamicBatching) SetDelay(d time.Duration) { p.delay.Store(int64(d)) }

// batchScan is the result of a walk over the queue.
type batchScan struct {
	policy   *DynamicBatching // that has scanned
	hasDelay bool             // there is a queue delay

	// first and last are the first and last request considered.
	first, last *infer.Request
	// count and rows are those of the requests that fit together.
	count, rows int
	oldest      int64             // earliest arrival among them
	best        int               // number of requests that make the largest preferred size met; 0: none
	why         stats.CloseReason // of best
	closed      bool              // last cannot join
	closedWhy   stats.CloseReason
}

// Evaluate returns how many requests make a batch now.
//
// The largest preferred size that can be met exactly is taken. When the oldest of the
// requests that fit together has waited for the queue delay, all that fit are taken
// instead.
//
// If no preferred size can be met exactly, some request exceeds the largest one. With a
// queue delay, the batch ends before that request. Without a queue delay, the request joins
// if it fits, as in Triton, where batches grow while they wait for an instance.
func (p *DynamicBatching) Evaluate(waiting *PriorityQueue, now int64, flush bool) Decision {
	delay := p.delay.Load()
	s := p.scan(waiting, delay > 0)
	exceeded := delay > 0 && now-s.oldest >= delay
	flush = flush && delay > 0
	switch {
	case s.best > 0 && !exceeded && !flush:
		return Decision{Count: s.best, Why: s.why}
	case s.closed:
		return Decision{Count: s.count, Why: s.closedWhy}
	case s.rows >= p.largest:
		return Decision{Count: s.count, Why: stats.Full}
	case exceeded:
		return Decision{Count: s.count, Why: stats.Delay}
	case flush:
		return Decision{Count: s.count, Why: stats.Flush}
	case delay == 0:
		return Decision{Count: s.count, Why: stats.Immediate}
	}
	return Decision{At: s.oldest + delay}
}

// scan continues the last walk, or starts again when its result is no longer valid.
func (p *DynamicBatching) scan(waiting *PriorityQueue, hasDelay bool) *batchScan {
	last, memo := waiting.Memo()
	s, _ := memo.(*batchScan)
	if s == nil {
		s = &batchScan{}
	}
	if last == nil || s.policy != p || s.hasDelay != hasDelay {
		first := waiting.Front()
		*s = batchScan{policy: p, hasDelay: hasDelay, first: first, oldest: first.Position.Since}
		if p.strategy != nil {
			p.strategy.Begin()
			p.strategy.Include(first)
		}
		p.add(s, first)
	}
	for p.canGrow(s) {
		r := waiting.After(s.last)
		if r == nil {
			break
		}
		p.consider(s, r)
	}
	waiting.SetMemo(s.last, s)
	return s
}

// canGrow reports whether another request could still join.
func (p *DynamicBatching) canGrow(s *batchScan) bool {
	return !s.closed && (s.hasDelay || s.rows < p.largest)
}

// consider adds a request to those that fit together, or closes the batch before it.
func (p *DynamicBatching) consider(s *batchScan, r *infer.Request) {
	n := r.Rows()
	if s.hasDelay && s.rows+n > p.largest && s.best == 0 {
		s.best, s.why = s.count, stats.Full
	}
	switch {
	case s.rows+n > p.maxBatch:
		s.closed, s.closedWhy, s.last = true, stats.Full, r
	case !p.equalInputs.Equal(s.first, r):
		s.closed, s.closedWhy, s.last = true, stats.Shape, r
	case p.strategy != nil && !p.strategy.Include(r):
		s.closed, s.closedWhy, s.last = true, stats.Full, r
	default:
		p.add(s, r)
	}
}

func (p *DynamicBatching) add(s *batchScan, r *infer.Request) {
	s.rows += r.Rows()
	s.count++
	s.last = r
	s.oldest = min(s.oldest, r.Position.Since)
	if slices.Contains(p.preferred, s.rows) {
		s.best, s.why = s.count, p.whyPreferred(s.rows)
	}
}

func (p *DynamicBatching) whyPreferred(rows int) stats.CloseReason {
	if rows == p.maxBatch {
		return stats.Full
	}
	return stats.Preferred
}
