package repository

import (
	"context"
	"time"
)

// Settle makes the server not ready any more, refuses sequences that begin and
// waits until those that have begun are over, or until ctx ends. All other
// requests are served meanwhile. It says every second which models it waits for.
func (r *Repository) Settle(ctx context.Context) {
	r.phase.CompareAndSwap(ready, settling)
	var all []*version
	var over []<-chan struct{}
	for _, v := range r.open() {
		if v.sequences != nil {
			all = append(all, v)
			over = append(over, v.sequences.Stop())
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

// settle waits for the sequences that go on with the instances of a version
// while others have taken its place, or until ctx ends.
func (v *version) settle(ctx context.Context) {
	if !v.replaced || v.sequences == nil {
		return
	}
	select {
	case <-v.sequences.Stop():
	case <-ctx.Done():
	}
}
