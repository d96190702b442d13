package serve

import (
	"sync/atomic"
	"time"
)

// reclaimDelay is the time from the close of a model until its memory is given back.
const reclaimDelay = 5 * time.Second

// reclaimer gives the memory of closed models back to the system. A load makes some 0.5 MB of
// garbage and a model may have had much more, but a server that is idle afterwards allocates too
// little to collect it: because of the heap floor that takes tens of megabytes.
//
// A collection of the whole heap, and the page faults after it, cost requests time. So it runs in
// the background, and once for all models that are closed within the delay: that of a series of
// unloads costs little, and requests of a server that unloads nothing never wait for it.
type reclaimer struct {
	free    func()
	pending atomic.Bool // free will run
}

func newReclaimer(free func()) *reclaimer { return &reclaimer{free: free} }

// modelClosed is called after a model was closed.
func (r *reclaimer) modelClosed() {
	if !r.pending.Swap(true) {
		time.AfterFunc(reclaimDelay, r.run)
	}
}

func (r *reclaimer) run() {
	r.pending.Store(false) // first: a model that is closed from now on needs another run
	r.free()
}
