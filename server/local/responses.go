package local

import (
	"context"
	"iter"
	"sync"

	"triton/pkg/client"
	"triton/server/infer"
)

// Responses runs a request and yields its responses as they come: any number of them if the
// model is decoupled, else one. An error is the last value. When the loop or ctx ends first, the
// request is cancelled. A model never waits for the loop: a request whose responses wait for it
// with more than 256 MiB is cancelled, and the error says so.
func (s *Server) Responses(ctx context.Context, req *client.Request) iter.Seq2[*client.Response, error] {
	return func(yield func(*client.Response, error) bool) {
		r, m, err := s.begin(ctx, req)
		if err != nil {
			yield(nil, err)
			return
		}
		defer m.Release()
		defer r.Release()
		sink := newSink(r)
		r.Sink = sink
		r.CancelWith(ctx) // also while the loop's body runs
		if err := m.Submit(r); err != nil {
			yield(nil, err)
			return
		}
		defer sink.abandon()
		for {
			resp, err := sink.next(ctx)
			if resp == nil && err == nil {
				return
			}
			var converted *client.Response
			if err == nil {
				if err = resp.Err; err == nil {
					converted, err = response(m, r, resp)
				}
				resp.Release()
			}
			if !yield(converted, err) || err != nil {
				return
			}
		}
	}
}

// sink keeps the responses of a request until the loop takes them.
type sink struct {
	request *infer.Request
	wake    chan struct{} // capacity 1

	mu struct {
		sync.Mutex
		waiting []*infer.Response
		backlog infer.ResponseBacklog
		full    error // the loop was too slow; responses are dropped
		ended   bool  // there is no further response
		left    bool  // the loop has ended
	}
}

func newSink(r *infer.Request) *sink {
	s := &sink{request: r, wake: make(chan struct{}, 1)}
	s.mu.backlog.Limit = infer.DefaultResponseBacklog
	return s
}

// Send implements infer.Sink.
func (s *sink) Send(resp *infer.Response, final bool) {
	s.mu.Lock()
	overflow := false
	switch {
	case resp == nil:
	case s.mu.left || s.mu.full != nil:
		resp.Release()
	case !s.mu.backlog.TryAdd(resp):
		s.mu.full = s.mu.backlog.Err()
		overflow = !final
		resp.Release()
	default:
		s.mu.waiting = append(s.mu.waiting, resp)
	}
	s.mu.ended = s.mu.ended || final
	s.mu.Unlock()
	if overflow {
		s.request.Cancel()
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// next returns the next response; nil after the last one.
func (s *sink) next(ctx context.Context) (*infer.Response, error) {
	for {
		s.mu.Lock()
		var resp *infer.Response
		full, ended := s.mu.full, s.mu.ended
		if len(s.mu.waiting) > 0 {
			resp = s.mu.waiting[0]
			s.mu.waiting = s.mu.waiting[1:]
			s.mu.backlog.Remove(resp.Size())
		}
		s.mu.Unlock()
		switch {
		case resp != nil:
			return resp, nil
		case full != nil:
			return nil, full
		case ended:
			return nil, nil
		}
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// abandon cancels what has not ended and releases what the loop did not take.
func (s *sink) abandon() {
	s.mu.Lock()
	s.mu.left = true
	rest, ended := s.mu.waiting, s.mu.ended
	s.mu.waiting = nil
	s.mu.Unlock()
	for _, resp := range rest {
		resp.Release()
	}
	if !ended {
		s.request.Cancel()
	}
}
