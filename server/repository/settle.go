package repository

import (
	"context"
	"time"

	"triton/server/model"
)

// Settle makes the server not ready any more, refuses sequences that begin and
// waits until those that have begun are over, or until ctx ends. All other
// requests are served meanwhile. It says every second which models it waits for.
func (r *Repository) Settle(ctx context.Context) {
	r.phase.CompareAndSwap(ready, settling)
	var all []*model.Loaded
	var over []<-chan struct{}
	for _, v := range r.open() {
		if ended := v.Sequences(); ended != nil {
			all = append(all, v)
			over = append(over, ended)
		}
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for len(over) > 0 {
		select {
		case <-over[0]:
			over = over[1:]
		case <-tick.C:
			r.report(ctx, all)
		case <-ctx.Done():
			return
		}
	}
}
