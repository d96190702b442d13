package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/scheduler/dynamic"
)

// oldest makes batches as the dynamic batcher does, on each instance, of one
// request of each sequence. The next request of a sequence joins when the engine
// is done with the one before.
type oldest struct {
	policy *dynamic.Policy
	// ordered says that responses leave in the order of the batches. It is so by
	// itself unless engines answer after their call; an iterative request has no one
	// place in that order.
	ordered bool
}

func newOldest(cfg *inferencepb.ModelConfig) *oldest {
	o := cfg.GetSequenceBatching().GetOldest()
	ordered := o.GetPreserveOrdering() && cfg.GetModelTransactionPolicy().GetDecoupled() && !cfg.GetSequenceBatching().GetIterativeSequence()
	return &oldest{ordered: ordered, policy: dynamic.New(&inferencepb.ModelConfig{
		MaxBatchSize: cfg.GetMaxBatchSize(), Input: cfg.GetInput(),
		SchedulingChoice: &inferencepb.ModelConfig_DynamicBatching{DynamicBatching: &inferencepb.ModelDynamicBatching{
			PreferredBatchSize: o.GetPreferredBatchSize(), MaxQueueDelayMicroseconds: o.GetMaxQueueDelayMicroseconds(),
		}},
	})}
}

func (o *oldest) line() *scheduler.Line { return scheduler.NewLine(o.policy, scheduler.Rules{}) }

// arrive hands the next request of a sequence over.
func (*oldest) arrive(s *Source, l *slot) {
	r := l.front()
	if r == nil || l.running > 0 {
		return
	}
	q := l.seq
	q.waiting.Remove(r)
	q.uses++
	l.running++
	l.lined = r
	_ = l.bench.line.Push(r, infer.Now()) // without rules it takes all
}

func (*oldest) early() bool { return false }

func (*oldest) look(_ *Source, b *bench, now int64, flush bool) scheduler.Cut {
	return b.line.Next(now, flush)
}

func (o *oldest) fill(s *Source, b *bench, cut scheduler.Cut) {
	b.seat.Why = cut.Why
	for range cut.Count {
		r := b.line.Front()
		if r.Cancelled() {
			s.cancel(r.Member.Of.(*sequence), r)
			continue
		}
		if all := b.seat.Batch.Requests; len(all) > 0 && !s.fit(all[0], r) {
			return // it begins the next batch
		}
		l := r.Member.Of.(*sequence).slot
		b.line.Remove(r)
		l.lined = nil
		r.Move(infer.Queued, infer.Executing) // no longer to be withdrawn
		s.stats.Pending.Add(-1)
		if o.ordered {
			b.order.Enter(r)
		}
		b.seat.Batch.Add(r)
	}
}

// unline takes the request of a slot back that was handed over and waits.
func (s *Source) unline(l *slot) {
	r := l.lined
	l.bench.line.Remove(r)
	l.lined = nil
	l.running--
	s.unuse(r.Member.Of.(*sequence))
}
