package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
	"triton/server/stats"
)

// direct gives each slot a row of the batch: that of its number. A row between
// others whose sequence has no request is filled with a null request.
type direct struct {
	delay int64   // ns
	share float64 // of the slots that need a request to end the delay
	rows  float64
	same  dynamic.Sameness
}

func newDirect(cfg *inferencepb.ModelConfig) *direct {
	d := cfg.GetSequenceBatching().GetDirect()
	return &direct{
		delay: scheduler.Micros(d.GetMaxQueueDelayMicroseconds()),
		share: float64(d.GetMinimumSlotUtilization()),
		rows:  float64(max(cfg.GetMaxBatchSize(), 1)),
		same:  dynamic.NewSameness(cfg),
	}
}

func (*direct) line() *scheduler.Line { return scheduler.NewLine(nil, scheduler.Rules{}) }

func (*direct) arrive(*Source, *slot) {}

func (*direct) early() bool { return true }

// front is the request of a slot that is next; nil when none waits.
func (l *slot) front() *infer.Request {
	if l.seq == nil {
		return nil
	}
	return l.seq.waiting.Front()
}

// next is the request of a slot that may run; nil when there is none. One that
// needs the state of the request before waits until the engine is done with that,
// which a decoupled one may be long after its call.
func (*direct) next(s *Source, l *slot) *infer.Request {
	if s.memory != nil && l.running > 0 {
		return nil
	}
	return l.front()
}

// look finds a batch due when any request waits, or enough of them, or one has
// waited the delay.
func (d *direct) look(s *Source, b *bench, now int64, flush bool) scheduler.Cut {
	ready, last, oldest := 0, -1, int64(0)
	for i := 0; i < len(b.slots); i++ {
		r := d.next(s, b.slots[i])
		for r != nil && r.Cancelled() {
			s.cancel(b.slots[i].seq, r)
			r = d.next(s, b.slots[i]) // of the next sequence
		}
		if r == nil {
			continue
		}
		if ready == 0 || r.Times.Queued < oldest {
			oldest = r.Times.Queued
		}
		ready++
		last = i
	}
	switch {
	case ready == 0:
		return scheduler.Cut{}
	case d.delay == 0 || d.share == 0 || flush:
		return scheduler.Cut{Count: last + 1, Why: stats.Immediate}
	case float64(ready)/d.rows >= d.share:
		return scheduler.Cut{Count: last + 1, Why: stats.Preferred}
	case now-oldest >= d.delay:
		return scheduler.Cut{Count: last + 1, Why: stats.Delay}
	}
	return scheduler.Cut{At: oldest + d.delay}
}

// fill takes the request in front of each slot. The first request is the pattern
// for the null requests, which stand for those that differ from it too.
func (d *direct) fill(s *Source, b *bench, cut scheduler.Cut) {
	b.seat.Why = cut.Why
	var first *infer.Request
	for _, l := range b.slots[:cut.Count] {
		if r := d.next(s, l); r != nil {
			first = r
			break
		}
	}
	for _, l := range b.slots[:cut.Count] {
		r := d.next(s, l)
		if r == nil || r != first && !d.joins(s, first, r) {
			b.seat.Batch.Add(null(first))
			continue
		}
		q := l.seq
		q.waiting.Remove(r)
		s.run(b, l, q, r)
		s.settle(l)
	}
}

// joins says whether a request can share a batch with its first one.
func (d *direct) joins(s *Source, first, r *infer.Request) bool {
	return d.same.Equal(first, r) && s.fit(first, r)
}

// run puts a request in the batch.
func (s *Source) run(b *bench, l *slot, q *sequence, r *infer.Request) {
	r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
	s.stats.Pending.Add(-1)
	q.uses++
	l.running++
	b.seat.Batch.Add(r)
}
