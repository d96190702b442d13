// Package dynamic is the policy of the dynamic batcher: how many of the
// waiting requests make the next batch, and when. It is a pure function of the
// queue and the time; the queue itself and its locking are package scheduler's.
// What it has found out about the requests in front is noted with them, so that an
// arrival costs the same in a batch of two and in one of a thousand.
package dynamic

import (
	"slices"
	"sync/atomic"
	"time"

	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

var _ scheduler.Policy = (*Policy)(nil)

// Policy batches requests of one model.
type Policy struct {
	preferred []int // ascending
	largest   int   // of preferred; 0 when there are none
	maxBatch  int
	delay     atomic.Int64 // ns
	same      Sameness
}

// New reads the policy from a configuration with dynamic_batching.
func New(cfg *inferencepb.ModelConfig) *Policy {
	d := cfg.GetDynamicBatching()
	p := &Policy{
		maxBatch: int(cfg.GetMaxBatchSize()),
		same:     NewSameness(cfg),
	}
	p.delay.Store(scheduler.Micros(d.GetMaxQueueDelayMicroseconds()))
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

// SetDelay changes for how long requests wait for others, from the next decision
// on. Any goroutine may call it.
func (p *Policy) SetDelay(d time.Duration) { p.delay.Store(int64(d)) }

// scan is what a walk over the queue found.
type scan struct {
	of    *Policy
	waits bool // there is a delay to wait for

	first, last *infer.Request // of those that were looked at
	count, rows int            // that fit together
	oldest      int64          // when the first of them came
	best        int            // requests up to the largest preferred size met
	why         stats.Close    // of best
	closed      bool           // last cannot join
	closedWhy   stats.Close
}

// Next says how many requests make a batch now.
//
// A preferred size that can be met exactly wins until the oldest of the requests
// that fit has waited the delay; then everything that fits goes. A request that
// would pass the largest preferred size without meeting one ends the batch before
// it, as long as there is a delay to wait for something better. Without a delay
// it joins when it fits: what waits then waits for an instance, and Triton's
// batches grow in the same way meanwhile.
func (p *Policy) Next(waiting *scheduler.Line, now int64, flush bool) scheduler.Cut {
	delay := p.delay.Load()
	s := p.scan(waiting, delay > 0)
	exceeded := delay > 0 && now-s.oldest >= delay
	flush = flush && delay > 0
	switch {
	case s.best > 0 && !exceeded && !flush:
		return scheduler.Cut{Count: s.best, Why: s.why}
	case s.closed:
		return scheduler.Cut{Count: s.count, Why: s.closedWhy}
	case s.rows >= p.largest:
		return scheduler.Cut{Count: s.count, Why: stats.Full}
	case exceeded:
		return scheduler.Cut{Count: s.count, Why: stats.Delay}
	case flush:
		return scheduler.Cut{Count: s.count, Why: stats.Flush}
	case delay == 0:
		return scheduler.Cut{Count: s.count, Why: stats.Immediate}
	}
	return scheduler.Cut{At: s.oldest + delay}
}

// scan goes on with the walk where the last one ended, or begins anew when what it
// found does not hold any more.
func (p *Policy) scan(waiting *scheduler.Line, waits bool) *scan {
	last, memo := waiting.Noted()
	s, _ := memo.(*scan)
	if s == nil {
		s = &scan{}
	}
	if last == nil || s.of != p || s.waits != waits {
		first := waiting.Front()
		*s = scan{of: p, waits: waits, first: first, oldest: first.Place.Since}
		p.add(s, first)
	}
	for p.open(s) {
		r := waiting.After(s.last)
		if r == nil {
			break
		}
		p.look(s, r)
	}
	waiting.Note(s.last, s)
	return s
}

// open reports whether another request could still join.
func (p *Policy) open(s *scan) bool { return !s.closed && (s.waits || s.rows < p.largest) }

// look adds a request to those that fit together, or closes the batch before it.
func (p *Policy) look(s *scan, r *infer.Request) {
	n := r.Rows()
	if s.waits && s.rows+n > p.largest && s.best == 0 {
		s.best, s.why = s.count, stats.Full
	}
	switch {
	case s.rows+n > p.maxBatch:
		s.closed, s.closedWhy, s.last = true, stats.Full, r
	case !p.same.Equal(s.first, r):
		s.closed, s.closedWhy, s.last = true, stats.Shape, r
	default:
		p.add(s, r)
	}
}

func (p *Policy) add(s *scan, r *infer.Request) {
	s.rows += r.Rows()
	s.count++
	s.last = r
	s.oldest = min(s.oldest, r.Place.Since)
	if slices.Contains(p.preferred, s.rows) {
		s.best, s.why = s.count, p.whyPreferred(s.rows)
	}
}

func (p *Policy) whyPreferred(rows int) stats.Close {
	if rows == p.maxBatch {
		return stats.Full
	}
	return stats.Preferred
}
