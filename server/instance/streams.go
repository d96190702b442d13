package instance

import (
	"sync"

	"triton/server/infer"
	"triton/server/scheduler"
	"triton/server/stats"
)

// streams are the requests of a decoupled model that run: those that have not
// had their final response from the engine. They keep the group open.
type streams struct {
	mu   sync.Mutex
	list infer.List
	over bool // all are aborted
}

// A Group hears of the responses of its streams.
var _ infer.Keeper = (*Group)(nil)

// open makes a request a stream before the engine sees it.
func (g *Group) open(r *infer.Request) {
	g.running.Add(1) // the seat's goroutine is among them, so it was not 0
	r.Open(g)
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	g.streams.list.Push(r)
	if g.streams.over {
		abort(r)
	}
}

// Responded counts a response. The end alone is none.
func (g *Group) Responded(r *infer.Request, did infer.Reply) {
	if did.Empty && did.Final {
		return
	}
	if did.Index == 0 && !did.Empty {
		g.opts.Stats.FirstResponse(did.End - r.Times.Received)
	}
	if did.Err != nil && !did.Written {
		did.Output = did.End
	}
	g.opts.Stats.Responded(stats.Response{
		Index: did.Index, Infer: did.Output - did.Begin, Output: did.End - did.Output, How: outcome(r, &did),
	})
}

func outcome(r *infer.Request, did *infer.Reply) stats.Outcome {
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

// executed comes when the batch of a stream has run. One that its engine wants
// again is none until then.
func (g *Group) executed(r *infer.Request) {
	switch {
	case r.Rescheduled():
		g.forget(r)
		r.Suspend()
		g.released(r)
		g.leave()
	case r.Over():
		g.released(r)
	}
}

// Finished forgets a stream. All memory is back before the group may end.
func (g *Group) Finished(r *infer.Request) {
	g.forget(r)
	if r.Over() {
		g.released(r)
	}
	r.Release()
	g.leave()
}

func (g *Group) forget(r *infer.Request) {
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	g.streams.list.Remove(r)
}

// abortStreams answers all streams for their engines, which are to see that and
// come to an end.
func (g *Group) abortStreams() {
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	g.streams.over = true
	for r := g.streams.list.Front(); r != nil; r = r.Next() {
		abort(r)
	}
}

func abort(r *infer.Request) {
	r.Abort(scheduler.Stopping(r))
	r.Cancel()
}
