package httpapi

import (
	"context"
	"sync"

	"triton/server/infer"
)

// backlog is the sink of a stream: what the model has answered and the client
// has not been sent yet.
type backlog struct {
	request *infer.Request
	wake    chan struct{} // tells the reader of a change; holds one

	mu     sync.Mutex
	ready  []*infer.Response
	held   infer.Backlog // counts ready
	ended  bool          // no more will come
	closed bool          // nobody reads any more
	full   bool          // the reader stayed behind
	after  func()        // is called at the end, when nobody reads
}

func newBacklog(r *infer.Request, limit int) *backlog {
	return &backlog{request: r, wake: make(chan struct{}, 1), held: infer.Backlog{Limit: limit}}
}

// Send is the model's side.
func (q *backlog) Send(resp *infer.Response, final bool) {
	q.mu.Lock()
	overflow := resp != nil && q.add(resp)
	q.ended = q.ended || final
	var after func()
	if q.ended {
		after, q.after = q.after, nil
	}
	q.mu.Unlock()
	if overflow {
		q.request.Cancel() // it runs, so this only marks it
	}
	if after != nil {
		after()
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// add takes a response; true when it is the first for which there is no room.
func (q *backlog) add(resp *infer.Response) (overflow bool) {
	if q.closed || q.full {
		resp.Release()
		return false
	}
	if q.full = !q.held.Hold(resp); q.full {
		resp.Release()
		resp = infer.NewResponse()
		resp.Err = q.held.Full()
	}
	q.ready = append(q.ready, resp)
	return q.full
}

// take waits for responses and returns all there are, which the caller
// releases. last says that no more will come. room is storage for the result.
func (q *backlog) take(ctx context.Context, room []*infer.Response) (all []*infer.Response, last bool, err error) {
	for {
		q.mu.Lock()
		if len(q.ready) > 0 || q.ended {
			all, q.ready = q.ready, room[:0]
			q.held.Clear()
			last = q.ended || q.full
			q.mu.Unlock()
			return all, last, nil
		}
		q.mu.Unlock()
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
}

// close says that nobody reads any more. after is called once the model has
// come to its end, at once if it has.
func (q *backlog) close(after func()) {
	q.mu.Lock()
	q.closed = true
	drop := q.ready
	q.ready = nil
	if !q.ended {
		q.after, after = after, nil
	}
	q.mu.Unlock()
	for _, r := range drop {
		r.Release()
	}
	if after != nil {
		after()
	}
}
