package httpapi

import (
	"context"
	"sync"

	"triton/pkg/status"
	"triton/server/infer"
)

// What one stream may have waiting for its client. A model never waits for a
// reader: one that stays behind by more than this has its request cancelled,
// gets what was made until then and an error at the end. Each response counts
// for its data and what holds it.
const (
	maxBacklog    = 64 << 20
	responseBytes = 512
)

var errSlow = status.New(status.Unavailable, "the client reads the stream too slowly: more than %d MiB of responses wait for it", maxBacklog>>20)

// backlog is the sink of a stream: what the model has answered and the client
// has not been sent yet.
type backlog struct {
	request *infer.Request
	wake    chan struct{} // tells the reader of a change; holds one

	mu     sync.Mutex
	ready  []*infer.Response
	bytes  int
	ended  bool   // no more will come
	closed bool   // nobody reads any more
	full   bool   // the reader stayed behind
	after  func() // is called at the end, when nobody reads
}

func newBacklog(r *infer.Request) *backlog {
	return &backlog{request: r, wake: make(chan struct{}, 1)}
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
	size := sizeOf(resp)
	if q.full = len(q.ready) > 0 && q.bytes+size > maxBacklog; q.full {
		resp.Release()
		resp = infer.NewResponse()
		resp.Err = errSlow
	}
	q.bytes += size
	q.ready = append(q.ready, resp)
	return q.full
}

func sizeOf(r *infer.Response) int {
	n := responseBytes
	for i := range r.Outputs {
		n += r.Outputs[i].Data.Len()
	}
	return n
}

// take waits for responses and returns all there are, which the caller
// releases. last says that no more will come. room is storage for the result.
func (q *backlog) take(ctx context.Context, room []*infer.Response) (all []*infer.Response, last bool, err error) {
	for {
		q.mu.Lock()
		if len(q.ready) > 0 || q.ended {
			all, q.ready, q.bytes = q.ready, room[:0], 0
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
