package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
)

// oldest is the strategy that forms batches as the dynamic batcher does, from a queue of
// each instance. The queue has at most one request of each sequence; the next one enters
// it when the backend is done with that one.
type oldest struct {
	policy *scheduler.DynamicBatching
	// ordered sends responses in the order in which requests were taken into batches. It
	// is set only for decoupled models, whose backends answer after their call, and never
	// for iterative sequences, whose requests are taken into several batches.
	ordered bool
}

func newOldest(cfg *inferencepb.ModelConfig) *oldest {
	o := cfg.GetSequenceBatching().GetOldest()
	ordered := o.GetPreserveOrdering() && cfg.Decoupled() && !cfg.GetSequenceBatching().GetIterativeSequence()
	return &oldest{ordered: ordered, policy: scheduler.NewDynamicBatching(&inferencepb.ModelConfig{
		MaxBatchSize: cfg.GetMaxBatchSize(), Input: cfg.GetInput(),
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
			PreferredBatchSize: o.GetPreferredBatchSize(), MaxQueueDelayMicroseconds: o.GetMaxQueueDelayMicroseconds(),
		}},
	})}
}

func (o *oldest) newQueue() *scheduler.PriorityQueue {
	return scheduler.NewPriorityQueue(o.policy, scheduler.Rules{})
}

// arrive queues the next request of a sequence on the instance.
func (*oldest) arrive(s *Source, l *slot) {
	r := l.next()
	if r == nil || l.running > 0 {
		return
	}
	seq := l.seq
	seq.waiting.Remove(r)
	seq.refs++
	l.running++
	l.queued = r
	_ = l.instance.queue.Push(r, infer.Now()) // cannot fail without limits
}

func (*oldest) freesEarly() bool { return false }

func (*oldest) evaluate(_ *Source, inst *instance, now int64, flush bool) scheduler.Decision {
	return inst.queue.Evaluate(now, flush)
}

func (o *oldest) form(s *Source, inst *instance, decision scheduler.Decision) {
	inst.instanceSlot.Why = decision.Why
	for range decision.Count {
		r := inst.queue.Front()
		if r.Cancelled() {
			s.cancel(r.Membership.Sequence.(*sequence), r)
			continue
		}
		if all := inst.instanceSlot.Batch.Requests; len(all) > 0 && !s.compatible(all[0], r) {
			return // it starts the next batch
		}
		l := r.Membership.Sequence.(*sequence).slot
		inst.queue.Remove(r)
		l.queued = nil
		r.TakeFromQueue()
		s.stats.Pending.Add(-1)
		if o.ordered {
			inst.order.Enter(r)
		}
		inst.instanceSlot.Batch.Add(r)
	}
}

// unqueue removes the queued request of a slot from the instance's queue.
func (s *Source) unqueue(l *slot) {
	r := l.queued
	l.instance.queue.Remove(r)
	l.queued = nil
	l.running--
	s.release(r.Membership.Sequence.(*sequence))
}
