// Package dynamic is the policy of the dynamic batcher: how many of the
// waiting requests make the next batch, and when. It is a pure function of the
// queue and the time; the queue itself and its locking are package scheduler's.
package dynamic

import (
	"slices"

	"triton/pkg/inferencepb"
	"triton/server/scheduler"
	"triton/server/stats"
)

var _ scheduler.Policy = (*Policy)(nil)

// Policy batches requests of one model.
type Policy struct {
	preferred []int // ascending
	largest   int   // of preferred; 0 when there are none
	maxBatch  int
	delay     int64 // ns
	same      sameness
}

// forever is a delay in microseconds that never ends, and leaves room to add
// times to it.
const forever = 1 << 51

// New reads the policy from a configuration with dynamic_batching.
func New(cfg *inferencepb.ModelConfig) *Policy {
	d := cfg.GetDynamicBatching()
	p := &Policy{
		maxBatch: int(cfg.GetMaxBatchSize()),
		delay:    int64(min(d.GetMaxQueueDelayMicroseconds(), forever)) * 1000,
		same:     newSameness(cfg),
	}
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

// scan is what a walk over the queue found.
type scan struct {
	count, rows int         // that fit together
	oldest      int64       // when the first of them came
	best        int         // requests up to the largest preferred size met
	why         stats.Close // of best
	closed      bool        // the next request cannot join
	closedWhy   stats.Close
}

// Next says how many requests make a batch now.
//
// A preferred size that can be met exactly wins until the oldest of the requests
// that fit has waited the delay; then everything that fits goes. A request that would pass
// the largest preferred size without meeting one ends the batch before it, as
// long as there is a delay to wait for something better. Without a delay it
// joins when it fits: what waits then waits for an instance, and Triton's
// batches grow in the same way meanwhile.
func (p *Policy) Next(waiting *scheduler.Line, now int64, flush bool) scheduler.Cut {
	s := p.scan(waiting)
	exceeded := p.delay > 0 && (flush || now-s.oldest >= p.delay)
	switch {
	case s.best > 0 && !exceeded:
		return scheduler.Cut{Count: s.best, Why: s.why}
	case s.closed:
		return scheduler.Cut{Count: s.count, Why: s.closedWhy}
	case s.rows >= p.largest:
		return scheduler.Cut{Count: s.count, Why: stats.Full}
	case exceeded:
		return scheduler.Cut{Count: s.count, Why: stats.Delay}
	case p.delay == 0:
		return scheduler.Cut{Count: s.count, Why: stats.Immediate}
	}
	return scheduler.Cut{At: s.oldest + p.delay}
}

func (p *Policy) scan(waiting *scheduler.Line) scan {
	first := waiting.Front()
	s := scan{oldest: first.Place.Since}
	for r := first; r != nil; r = waiting.After(r) {
		n := r.Rows()
		if s.count > 0 {
			if p.delay == 0 && s.rows >= p.largest {
				break
			}
			if p.delay > 0 && s.rows+n > p.largest && s.best == 0 {
				s.best, s.why = s.count, stats.Full
			}
			if s.rows+n > p.maxBatch {
				s.closed, s.closedWhy = true, stats.Full
				break
			}
			if !p.same.equal(first, r) {
				s.closed, s.closedWhy = true, stats.Shape
				break
			}
		}
		s.rows += n
		s.count++
		s.oldest = min(s.oldest, r.Place.Since)
		if slices.Contains(p.preferred, s.rows) {
			s.best, s.why = s.count, p.whyPreferred(s.rows)
		}
	}
	return s
}

func (p *Policy) whyPreferred(rows int) stats.Close {
	if rows == p.maxBatch {
		return stats.Full
	}
	return stats.Preferred
}
