package repository

import (
	"context"
	"time"

	"triton/server/model"
)

// FinishSequences makes the server unready, refuses new sequences and waits until the open
// ones are finished, or until ctx ends. All other requests are served meanwhile. It logs at once, and
// then every second, which models it waits for.
func (r *Repository) FinishSequences(ctx context.Context) {
	if !r.phase.CompareAndSwap(draining, finishing) {
		r.phase.CompareAndSwap(ready, finishing)
	}
	var all []*model.LoadedVersion
	var finished []<-chan struct{}
	busy := false
	for _, v := range r.openVersions() {
		if done := v.FinishSequences(); done != nil {
			all = append(all, v)
			finished = append(finished, done)
			busy = busy || v.InFlight() > 0
		}
	}
	if busy {
		r.logInFlight(ctx, all)
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for len(finished) > 0 {
		select {
		case <-finished[0]:
			finished = finished[1:]
		case <-tick.C:
			r.logInFlight(ctx, all)
		case <-ctx.Done():
			return
		}
	}
}
