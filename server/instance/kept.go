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
}

var _ infer.Owner = (*worker)(nil)

// Kept notes a request before the engine's call is over.
func (w *worker) Kept(r *infer.Request) {
	w.group.running.Add(1) // the instance's goroutine is counted, so it was not 0
	k := &w.kept
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list.Push(r)
	if k.over != nil {
		abort(r, k.over(r))
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
		return stats.Left
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
	w.stats.Completed(&stats.Batch{
		Requests: 1, Succeeded: r.Rows(), Total: end - t.Received, Queued: t.ComputeStart - t.Queued, End: end,
		Input: input - t.ComputeStart, Infer: end - input,
	})
}

// Finished forgets a request that the engine is done with. All memory is back
// before the group may end.
func (w *worker) Finished(r *infer.Request) {
	w.kept.remove(r)
	w.end(r)
}

// end gives back what the core and the engine hold of a request.
func (w *worker) end(r *infer.Request) {
	r.Release() // the engine's reference
	w.group.released(r)
	w.group.leave()
}

// reclaim takes back what a closed instance has not let go.
func (w *worker) reclaim() {
	k := &w.kept
	k.mu.Lock()
	var left []*infer.Request
	for r := k.list.Front(); r != nil; r = r.Next() {
		if r.Reclaim() {
			left = append(left, r)
		}
	}
	for _, r := range left {
		k.list.Remove(r)
	}
	k.over = nil
	k.mu.Unlock()
	for _, r := range left {
		w.end(r)
	}
}

func (k *kept) remove(r *infer.Request) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list.Remove(r)
}

// abort answers all requests for their engine, which is to see that and come to an
// end, and those that it keeps from now on.
func (k *kept) abort(why func(*infer.Request) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.over = why
	for r := k.list.Front(); r != nil; r = r.Next() {
		abort(r, why(r))
	}
}

func abort(r *infer.Request, err error) {
	r.Abort(err)
	r.Cancel()
}

// abortKept answers what the engines still owe when a drain gives up.
func (g *Group) abortKept() {
	for _, w := range g.workers {
		w.kept.abort(scheduler.Stopping)
	}
}
