package instance

import (
	"sync"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// kept are the requests that the engine of one instance keeps: those of a
// decoupled model, and those that it answers after its call. They keep the group
// open.
type kept struct {
	mu   sync.Mutex
	list infer.List
	over func(*infer.Request) error // all are aborted with it; nil: none is
	none chan struct{}              // closed when the list is empty; nil: nobody waits
}

var _ infer.Owner = (*worker)(nil)

// Kept notes a request before the engine's call is over.
func (w *worker) Kept(r *infer.Request) {
	w.group.running.Add(1) // the instance's goroutine is counted, so it was not 0
	k := &w.kept
	k.mu.Lock()
	k.list.Push(r)
	over := k.over
	k.mu.Unlock()
	if over != nil {
		abort(r, over(r))
	}
}

// Responded counts a response of a decoupled model. The end alone is none.
func (w *worker) Responded(r *infer.Request, did infer.Delivery) {
	if did.Empty && did.Final {
		return
	}
	if did.Index == 0 && !did.Empty {
		w.group.opts.Stats.FirstResponse(did.End - r.Times.Received)
	}
	if did.Err != nil && !did.Written {
		did.Output = did.End
	}
	w.group.opts.Stats.Responded(stats.Response{
		Index: did.Index, Infer: did.Output - did.Begin, Output: did.End - did.Output, How: outcome(r, &did),
	})
}

func outcome(r *infer.Request, did *infer.Delivery) stats.Outcome {
	switch {
	case did.Empty:
		return stats.Empty
	case did.Err == nil:
		return stats.Succeeded
	case why(r, did.Err) == stats.Canceled:
		return stats.Abandoned
	}
	return stats.Failed
}

// Completed counts a request that is answered after the call that ran it. The
// batch was counted with the call.
func (w *worker) Completed(r *infer.Request, err error) {
	end := infer.Now()
	w.group.opts.Stats.FirstResponse(end - r.Times.Received)
	if err != nil {
		w.stats.Fail(why(r, err), end-r.Times.Received)
		return
	}
	t := &r.Times
	input := max(t.InputEnd, t.ComputeStart) // 0 while the call runs on
	did := stats.Batch{
		Requests: 1, Succeeded: r.Rows(), Total: end - t.Received, Queued: t.ComputeStart - t.Queued, End: end,
		Input: input - t.ComputeStart, Infer: end - input,
	}
	w.stats.Completed(&did)
	if w.stats.Detailed() {
		w.stats.Observe(stats.Sample{Total: did.Total, Queue: did.Queued, Input: did.Input, Infer: did.Infer})
	}
}

// Finished forgets a request that the engine is done with. All memory is back
// before the group may end.
func (w *worker) Finished(r *infer.Request) {
	w.kept.remove(r)
	r.ReleaseInputs()
	r.Release() // the engine's reference
	w.group.released(r)
	w.group.leave()
}

// reclaim takes back what a closed instance has not let go.
func (w *worker) reclaim() {
	for _, r := range w.kept.all(nil) {
		if r.Reclaim() {
			w.Finished(r)
		}
		r.Release()
	}
}

// abort answers all requests for their engine, which is to see that and come to an
// end, and those that it keeps from now on.
func (k *kept) abort(why func(*infer.Request) error) {
	for _, r := range k.all(why) {
		abort(r, why(r))
		r.Release()
	}
}

// all are the requests, each with a reference for the caller: what is done to them
// must not be done under the lock, as sinks may finish other requests. Those that
// come from now on are aborted with over; nil: none is.
func (k *kept) all(over func(*infer.Request) error) []*infer.Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = over
	var all []*infer.Request
	for r := k.list.Front(); r != nil; r = r.Next() {
		r.Retain()
		all = append(all, r)
	}
	return all
}

func (k *kept) remove(r *infer.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list.Remove(r)
	if k.none != nil && k.list.Len() == 0 {
		close(k.none)
		k.none = nil
	}
}

// empty returns a channel that is closed when nothing is kept. One goroutine may
// wait at a time.
func (k *kept) empty() <-chan struct{} {
	none := make(chan struct{})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list.Len() == 0 {
		close(none)
	} else {
		k.none = none
	}
	return none
}

func abort(r *infer.Request, err error) {
	if r.Abort(err) {
		r.Cancel()
	}
}

// abortKept answers what the engines still owe when a drain gives up.
func (g *Group) abortKept() {
	for _, w := range g.workers {
		w.kept.abort(scheduler.Stopping)
	}
}
