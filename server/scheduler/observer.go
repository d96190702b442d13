package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Observer observes every batch, for components that learn from executions. It is called
// from the goroutines of all instances, must not block and must not keep the batch.
type Observer interface {
	// Started is called before the backend, at the time now by infer.Now.
	Started(slot int, b *infer.Batch, now int64)
	// Ended is called after the backend's call and before the responses are sent.
	Ended(slot int, b *infer.Batch, execution Execution)
}

// Execution describes how a batch ran. The times are by infer.Now.
type Execution struct {
	Why        stats.CloseReason
	Start, End int64
	Failed     bool // all of its requests failed
	Broken     bool // the slot runs no more batches
}

// Observers call one observer after the other.
type Observers []Observer

// Started calls all observers.
func (all Observers) Started(slot int, b *infer.Batch, now int64) {
	for _, o := range all {
		o.Started(slot, b, now)
	}
}

// Ended calls all observers.
func (all Observers) Ended(slot int, b *infer.Batch, execution Execution) {
	for _, o := range all {
		o.Ended(slot, b, execution)
	}
}
