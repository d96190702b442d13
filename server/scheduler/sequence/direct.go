package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// direct is the strategy that gives each sequence slot the row of the batch with the
// slot's number. A row without a request is filled with a null request if a later row has
// one.
type direct struct {
	delay       int64   // ns
	share       float64 // the delay ends when this share of the rows have a request
	rows        float64
	equalInputs scheduler.EqualInputs
}

func newDirect(cfg *inferencepb.ModelConfig) *direct {
	d := cfg.GetSequenceBatching().GetDirect()
	return &direct{
		delay:       scheduler.Micros(d.GetMaxQueueDelayMicroseconds()),
		share:       float64(d.GetMinimumSlotUtilization()),
		rows:        float64(max(cfg.GetMaxBatchSize(), 1)),
		equalInputs: scheduler.NewEqualInputs(cfg),
	}
}

func (*direct) newQueue() *scheduler.PriorityQueue {
	return scheduler.NewPriorityQueue(nil, scheduler.Rules{})
}

func (*direct) arrive(*Source, *slot) {}

func (*direct) freesEarly() bool { return true }

// next returns the first waiting request of the slot's sequence; nil when none waits.
func (l *slot) next() *infer.Request {
	if l.seq == nil {
		return nil
	}
	return l.seq.waiting.Front()
}

// runnable returns the request of a slot that may run; nil when there is none. With implicit
// states a request waits until the backend is done with the previous one. A backend of a
// decoupled model may be done long after its call.
func (*direct) runnable(s *Source, l *slot) *infer.Request {
	if s.implicit != nil && l.running > 0 {
		return nil
	}
	return l.next()
}

// evaluate returns the decision for an instance. Without a queue delay or
// minimum_slot_utilization a batch is due when any request waits. With both it is due when
// enough rows have a request, or when a request has waited for the delay.
func (d *direct) evaluate(s *Source, inst *instance, now int64, flush bool) scheduler.Decision {
	ready, last, oldest := 0, -1, int64(0)
	for i := 0; i < len(inst.slots); i++ {
		r := d.runnable(s, inst.slots[i])
		for r != nil && r.Cancelled() {
			s.cancel(inst.slots[i].seq, r)
			r = d.runnable(s, inst.slots[i]) // of the next sequence
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
		return scheduler.Decision{}
	case d.delay == 0 || d.share == 0 || flush:
		return scheduler.Decision{Count: last + 1, Why: stats.Immediate}
	case float64(ready)/d.rows >= d.share:
		return scheduler.Decision{Count: last + 1, Why: stats.Preferred}
	case now-oldest >= d.delay:
		return scheduler.Decision{Count: last + 1, Why: stats.Delay}
	}
	return scheduler.Decision{At: oldest + d.delay}
}

// form takes the first request of each slot. A null request fills the row of a slot that
// has none, or whose request cannot share a batch with the first request found. That
// request is the pattern of the null requests.
func (d *direct) form(s *Source, inst *instance, decision scheduler.Decision) {
	inst.instanceSlot.Why = decision.Why
	var first *infer.Request
	for _, l := range inst.slots[:decision.Count] {
		if r := d.runnable(s, l); r != nil {
			first = r
			break
		}
	}
	for _, l := range inst.slots[:decision.Count] {
		r := d.runnable(s, l)
		if r == nil || r != first && !d.joins(s, first, r) {
			inst.instanceSlot.Batch.Add(newNullRequest(first))
			continue
		}
		seq := l.seq
		seq.waiting.Remove(r)
		s.addToBatch(inst, l, seq, r)
		s.vacateIfEnded(l)
	}
}

// joins reports whether a request can share a batch whose first request is first.
func (d *direct) joins(s *Source, first, r *infer.Request) bool {
	return d.equalInputs.Equal(first, r) && s.compatible(first, r)
}

// addToBatch adds a request to the batch of an instance.
func (s *Source) addToBatch(inst *instance, l *slot, seq *sequence, r *infer.Request) {
	r.TakeFromQueue()
	s.stats.Pending.Add(-1)
	seq.refs++
	l.running++
	inst.instanceSlot.Batch.Add(r)
}
