package python

import (
	"time"

	"triton/server/backend/child"
)

// watchInterval is how often the callers of a model are checked while it calls others.
const watchInterval = 10 * time.Millisecond

// watchCalls starts the timer that checks the callers, if a call runs. The caller holds the
// lock.
func (e *events) watchCalls() {
	if e.mu.watching || len(e.mu.calls) == 0 {
		return
	}
	e.mu.watching = true
	if e.timer == nil {
		e.timer = time.AfterFunc(watchInterval, e.checkCallers)
	} else {
		e.timer.Reset(watchInterval)
	}
}

// checkCallers abandons the calls of a model when all its open requests are cancelled: no
// caller needs their results. A deadline so ends a model that calls itself.
func (e *events) checkCallers() {
	e.mu.Lock()
	e.mu.watching = false
	var left []*call
	if e.abandoned() {
		left = e.takeCalls()
	}
	e.watchCalls()
	e.mu.Unlock()
	for _, c := range left {
		c.abandon()
	}
}

// abandoned reports whether there are open requests and all of them are cancelled. The
// caller holds the lock.
func (e *events) abandoned() bool {
	some := false
	for _, o := range e.mu.open {
		if o.r == nil {
			continue
		}
		if !o.r.Cancelled() {
			return false
		}
		some = true
	}
	return some
}

// takeCalls takes all calls out of the table, for abandon. The caller holds the lock.
func (e *events) takeCalls() (all []*call) {
	for id, c := range e.mu.calls {
		delete(e.mu.calls, id)
		c.request.Retain()
		all = append(all, c)
	}
	return all
}

// cancelCall asks the model that was called to stop; its responses are still sent.
func (e *events) cancelCall(r *child.Reader) {
	id := r.Uint32()
	e.mu.Lock()
	c := e.mu.calls[id]
	if c != nil {
		c.request.Retain()
	}
	e.mu.Unlock()
	if c != nil {
		c.request.Cancel()
		c.request.Release()
	}
}
