package instance

import (
	"sync"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// keptRequests are the requests that the backend of one instance keeps: all requests of a
// decoupled model, and those for which the backend called Keep. The group is not closed
// while there are any, unless a drain has timed out.
type keptRequests struct {
	mu        sync.Mutex
	list      infer.List
	abortWith func(*infer.Request) error // error for all requests; nil: they are not aborted
	emptied   chan struct{}              // closed when the list is empty; nil: no goroutine waits
}

var _ infer.Owner = (*worker)(nil)

// Kept records a request before the backend's call returns.
func (w *worker) Kept(r *infer.Request) {
	w.group.running.Add(1) // not zero before: the instance's goroutine is counted
	k := &w.kept
	k.mu.Lock()
	k.list.Push(r)
	abortWith := k.abortWith
	k.mu.Unlock()
	if abortWith != nil {
		abort(r, abortWith(r))
	}
}

// Responded counts a response of a decoupled model. An end without data is not a
// response.
func (w *worker) Responded(r *infer.Request, delivery infer.Delivery) {
	if delivery.Final && delivery.Err == nil {
		w.stats.ObserveTotal(delivery.End - r.Times.Received)
	}
	if delivery.Empty && delivery.Final {
		return
	}
	if delivery.Index == 0 && !delivery.Empty {
		w.group.opts.Stats.FirstResponse(delivery.End - r.Times.Received)
	}
	if delivery.Err != nil && !delivery.Written {
		delivery.Output = delivery.End
	}
	w.group.opts.Stats.Responded(stats.Response{
		Index: delivery.Index, Infer: delivery.Output - delivery.Begin, Output: delivery.End - delivery.Output, Outcome: outcome(r, &delivery),
	})
}

func outcome(r *infer.Request, delivery *infer.Delivery) stats.Outcome {
	switch {
	case delivery.Empty:
		return stats.Empty
	case delivery.Err == nil:
		return stats.Succeeded
	case failureKind(r, delivery.Err) == stats.Canceled:
		return stats.Abandoned
	}
	return stats.Failed
}

// Completed counts a request that is answered after the call that ran it. The batch was
// counted with the call.
func (w *worker) Completed(r *infer.Request, err error) {
	end := infer.Now()
	w.group.opts.Stats.FirstResponse(end - r.Times.Received)
	if err != nil {
		w.stats.Fail(failureKind(r, err), end-r.Times.Received)
		return
	}
	t := &r.Times
	input := max(t.InputEnd, t.ComputeStart) // InputEnd is 0 while the call still runs
	b := stats.Batch{
		Requests: 1, Succeeded: r.Rows(), Total: end - t.Received, Queued: t.ComputeStart - t.Queued, End: end,
		Input: input - t.ComputeStart, Infer: end - input,
	}
	w.stats.Completed(&b)
	if w.stats.Detailed() {
		w.stats.Observe(stats.Sample{Total: b.Total, Queue: b.Queued, Input: b.Input, Infer: b.Infer})
	}
}

// Finished removes a request that the backend is done with. It releases the request's
// memory before done, because the group may then be closed.
func (w *worker) Finished(r *infer.Request) {
	w.kept.remove(r)
	r.ReleaseInputs()
	r.Release() // the backend's reference
	w.group.released(r)
	w.group.done()
}

// reclaim takes back the requests that a closed instance still keeps.
func (w *worker) reclaim() {
	for _, r := range w.kept.retainAll(nil) { // nil: the next instance starts without an abort
		if r.Reclaim() {
			w.Finished(r)
		}
		r.Release()
	}
}

// abort answers all requests with an error in place of the backend, and later the requests
// that it keeps from now on. The backend sees them cancelled.
func (k *keptRequests) abort(why func(*infer.Request) error) {
	for _, r := range k.retainAll(why) {
		abort(r, why(r))
		r.Release()
	}
}

// retainAll returns the requests, each with a reference for the caller, and sets abortWith
// for later ones. The caller processes the requests without the lock, because their sinks
// may finish other requests of the list.
func (k *keptRequests) retainAll(abortWith func(*infer.Request) error) []*infer.Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.abortWith = abortWith
	var all []*infer.Request
	for r := k.list.Front(); r != nil; r = r.Next() {
		r.Retain()
		all = append(all, r)
	}
	return all
}

func (k *keptRequests) remove(r *infer.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list.Remove(r)
	if k.emptied != nil && k.list.Len() == 0 {
		close(k.emptied)
		k.emptied = nil
	}
}

// whenEmpty returns a channel that is closed when nothing is kept. One goroutine may wait
// at a time.
func (k *keptRequests) whenEmpty() <-chan struct{} {
	none := make(chan struct{})
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.list.Len() == 0 {
		close(none)
	} else {
		k.emptied = none
	}
	return none
}

func abort(r *infer.Request, err error) {
	if r.Abort(err) {
		r.Cancel()
	}
}

// abortKept answers the unanswered kept requests when a drain times out.
func (g *Group) abortKept() {
	for _, w := range g.members.all() {
		w.kept.abort(scheduler.ErrStopping)
	}
}
