package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/scheduler"
)

// strategy decides which sequences of an instance share a batch.
type strategy interface {
	// newQueue returns the queue of one instance.
	newQueue() *scheduler.PriorityQueue
	// arrive is called when a slot may have a new waiting request.
	arrive(s *Source, l *slot)
	// freesEarly reports whether a slot becomes free when the last request of its sequence
	// is in a batch; otherwise it becomes free when the backend is done with that request.
	freesEarly() bool
	// evaluate decides whether a batch is due, as a scheduler.Policy. It may end
	// cancelled sequences.
	evaluate(s *Source, inst *instance, now int64, flush bool) scheduler.Decision
	// form forms the batch that evaluate found.
	form(s *Source, inst *instance, decision scheduler.Decision)
}

func newStrategy(cfg *inferencepb.ModelConfig) strategy {
	if cfg.GetSequenceBatching().GetOldest() != nil {
		return newOldest(cfg)
	}
	return newDirect(cfg)
}

// HasQueueDelay reports whether batches of a model may wait for more requests.
func HasQueueDelay(cfg *inferencepb.ModelConfig) bool {
	c := cfg.GetSequenceBatching()
	return c.GetDirect().GetMaxQueueDelayMicroseconds() > 0 || c.GetOldest().GetMaxQueueDelayMicroseconds() > 0
}
