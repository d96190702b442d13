package scheduler

import (
	"triton/server/infer"
	"triton/server/stats"
)

// Observer hears of every batch: what learns from executions. It is called from
// the goroutines of all instances, must not block and must not keep the batch.
type Observer interface {
	// Began comes before the engine is called, at the time now by infer.Now.
	Began(seat int, b *infer.Batch, now int64)
	// Ended comes after the call and before anybody has an answer.
	Ended(seat int, b *infer.Batch, did Ran)
}

// Ran is how a batch ran. The times are by infer.Now.
type Ran struct {
	Why        stats.Close
	Begin, End int64
	Failed     bool // for all of its requests
	Broken     bool // the seat runs no more batches
}

// Observers hear one after the other.
type Observers []Observer

// Began tells all.
func (all Observers) Began(seat int, b *infer.Batch, now int64) {
	for _, o := range all {
		o.Began(seat, b, now)
	}
}

// Ended tells all.
func (all Observers) Ended(seat int, b *infer.Batch, did Ran) {
	for _, o := range all {
		o.Ended(seat, b, did)
	}
}
