package sequence

import (
	"triton/pkg/inferencepb"
	"triton/server/scheduler"
)

// strategy says which sequences of an instance share a batch.
type strategy interface {
	// line is what one instance needs of it.
	line() *scheduler.Line
	// arrive comes when a request may wait in a slot that did not before.
	arrive(s *Source, l *slot)
	// early says that a slot is free when the last request of its sequence is in a
	// batch, and not when the engine is done with it.
	early() bool
	// look says whether a batch is due, as a scheduler.Policy. It may end
	// sequences that nobody waits for.
	look(s *Source, b *bench, now int64, flush bool) scheduler.Cut
	// fill cuts the batch that look found.
	fill(s *Source, b *bench, cut scheduler.Cut)
}

func newStrategy(cfg *inferencepb.ModelConfig) strategy {
	if cfg.GetSequenceBatching().GetOldest() != nil {
		return newOldest(cfg)
	}
	return newDirect(cfg)
}

// Delays says whether batches of a model may wait for more requests.
func Delays(cfg *inferencepb.ModelConfig) bool {
	c := cfg.GetSequenceBatching()
	return c.GetDirect().GetMaxQueueDelayMicroseconds() > 0 || c.GetOldest().GetMaxQueueDelayMicroseconds() > 0
}
