package instance

import (
	"sync"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// keptRequests are the requests that the backend of one instance keeps: those of a
// decoupled model, and those that it answers after its call. They keep the group open.
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
	over := k.abortWith
	k.mu.Unlock()
	if over != nil {
		abort(r, over(r))
	}
}

// Responded counts a response of a decoupled model. An end without data is not a
// response.
func (w *worker) Responded(r *infer.Request, delivery infer.Delivery) {
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
		Index: delivery.Index, Infer: delivery.Output - delivery.Begin, Output: delivery.End - delivery.Output, How: outcome(r, &delivery),
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
	did := stats.Batch{
		Requests: 1, Succeeded: r.Rows(), Total: end - t.Received, Queued: t.ComputeStart - t.Queued, End: end,
		Input: input - t.ComputeStart, Infer: end - input,
	}
	w.stats.Completed(&did)
	if w.stats.Detailed() {
		w.stats.Observe(stats.Sample{Total: did.Total, Queue: did.Queued, Input: did.Input, Infer: did.Infer})
	}
}

// Finished removes a request that the backend is done with. All memory is released before
// the group may end.
func (w *worker) Finished(r *infer.Request) {
	w.kept.remove(r)
	r.ReleaseInputs()
	r.Release() // the backend's reference
	w.group.released(r)
	w.group.done()
}

// reclaim takes back the requests that a closed instance still keeps.
func (w *worker) reclaim() {
	for _, r := range w.kept.retainAll(nil) {
		if r.Reclaim() {
			w.Finished(r)
		}
		r.Release()
	}
}

// abort answers all requests in place of the backend, which sees them cancelled, and
// those that it keeps from now on.
func (k *keptRequests) abort(why func(*infer.Request) error) {
	for _, r := range k.retainAll(why) {
		abort(r, why(r))
		r.Release()
	}
}

// retainAll returns the requests, each with a reference for the caller, which must not process
// them under the lock: sinks may finish other requests. Requests kept later are aborted
// with over; nil: none is.
func (k *keptRequests) retainAll(over func(*infer.Request) error) []*infer.Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.abortWith = over
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
	for _, w := range g.workers {
		w.kept.abort(scheduler.ErrStopping)
	}
}
