package httpapi

import (
	"context"
	"sync"

	"triton/server/access"
	"triton/server/infer"
)

// streamBacklog is the sink of a stream. It holds the responses that are not sent to the client yet.
type streamBacklog struct {
	request *infer.Request
	wake    chan struct{} // wakes the reader; capacity 1

	mu     sync.Mutex
	ready  []*infer.Response
	unread infer.ResponseBacklog // counts ready
	ended  bool                  // the final response has arrived
	closed bool                  // by the reader
	full   bool                  // the reader was too slow
	after  func()                // called when the model has ended, after close
}

func newStreamBacklog(r *infer.Request, x *exchange) *streamBacklog {
	o := &x.api.opts
	q := &streamBacklog{request: r, wake: make(chan struct{}, 1), unread: infer.ResponseBacklog{Limit: o.MaxUnread}}
	q.unread.Stream = o.Memory.NewStream(x.caller, func() { q.abort(q.unread.ErrShort()) })
	return q
}

// EachModel visits nothing: the call of a stream names its only model.
func (*streamBacklog) EachModel(func(model, version string) bool) {}

// Refuse ends the stream, because the guard no longer admits its caller.
func (q *streamBacklog) Refuse(r *access.Refusal) { q.abort(r) }

// abort replaces the responses that wait by an error and cancels the request, also if the reader was too
// slow already: what waits for it is still held.
func (q *streamBacklog) abort(err error) {
	q.mu.Lock()
	ends := q.closed
	if !ends {
		q.full = true
		for _, r := range q.ready {
			r.Release()
		}
		resp := infer.NewResponse()
		resp.Err = err
		q.ready = append(q.ready[:0], resp)
		q.unread.Clear()
		q.request.Retain()
	}
	q.mu.Unlock()
	if ends {
		return
	}
	q.request.Cancel()
	q.request.Release()
	q.signal()
}

func (q *streamBacklog) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// Send adds a response of the model; final is its last.
func (q *streamBacklog) Send(resp *infer.Response, final bool) {
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
	q.signal()
}

// add queues a response and reports whether it is the first that exceeds the limit.
func (q *streamBacklog) add(resp *infer.Response) (overflow bool) {
	if q.closed || q.full {
		resp.Release()
		return false
	}
	if q.full = !q.unread.TryAdd(resp); q.full {
		resp.Release()
		resp = infer.NewResponse()
		resp.Err = q.unread.Err()
	}
	q.ready = append(q.ready, resp)
	return q.full
}

// take waits for responses and returns queued ones, which the caller releases. last reports
// that no more will follow. spare is reused as storage for the next result.
func (q *streamBacklog) take(ctx context.Context, spare []*infer.Response) (all []*infer.Response, last bool, err error) {
	for {
		q.mu.Lock()
		if len(q.ready) > 0 || q.ended {
			all = q.next(spare[:0])
			last = (q.ended || q.full) && len(q.ready) == 0
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

// next moves responses to taken, as many as the writer may hold. The caller holds q.mu.
func (q *streamBacklog) next(taken []*infer.Response) []*infer.Response {
	n, size := 0, 0
	for n < len(q.ready) && size < infer.MaxTaken {
		size += q.ready[n].Size()
		n++
	}
	taken = append(taken, q.ready[:n]...)
	left := copy(q.ready, q.ready[n:])
	clear(q.ready[left:])
	q.ready = q.ready[:left]
	if left == 0 {
		q.unread.Clear()
	} else {
		q.unread.Remove(size)
	}
	return taken
}

// close ends reading and drops the queued responses. after is called when the model has ended; if
// it has ended already, close calls it.
func (q *streamBacklog) close(after func()) {
	q.mu.Lock()
	q.closed = true
	q.unread.Stream.End()
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
