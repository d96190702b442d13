//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"triton/pkg/status"
	"triton/server/infer"
)

var errNoResponse = status.New(status.Internal, "the backend released the request without a final response")

// settle ends an execution: it sends the responses that the backend has left in the requests,
// and keeps the requests that the backend has not ended.
func (in *instance) settle(b *infer.Batch, err error) error {
	if err != nil {
		if !in.touched() {
			in.withdraw()
			return err
		}
		in.model.spec.Log.Error("the backend returned an error from an execution after it had answered or released some of its requests; the others are answered with the error",
			"model", in.model.spec.Name, "error", err)
	}
	for _, s := range in.slots {
		s.settle(err)
	}
	return nil
}

// touched reports whether the backend has answered or released a request of the execution.
func (in *instance) touched() bool {
	for _, s := range in.slots {
		s.mu.Lock()
		yes := s.c.sent != nil || bool(s.c.released) || s.released || s.final || s.again
		s.mu.Unlock()
		if yes {
			return true
		}
	}
	return false
}

// withdraw takes all requests of an execution back, unanswered.
func (in *instance) withdraw() {
	for _, s := range in.slots {
		s.mu.Lock()
		s.r, s.final = nil, true
		s.c.kind, s.c.call = C.TRT_FREED, nil
		s.mu.Unlock()
		s.unref()
		s.unref()
	}
	in.slots = in.slots[:0]
}

// settle ends the execution of one request. err is that of the execution.
func (s *slot) settle(err error) {
	s.mu.Lock()
	c, r := s.c, s.r
	if r == nil {
		r = s.sendingTo
	}
	c.call = nil
	sent := c.sent
	c.sent = nil
	deferred := bool(c.released)
	failed := false
	if err != nil && sent == nil && !deferred && !s.released { // the backend has not touched it
		c.kind = C.TRT_FREED
		deferred = true
		failed = !s.final
		s.final = true
	}
	wasKept := s.kept
	s.released = s.released || deferred
	var response *infer.Response
	if sent != nil {
		s.final = true
		response = s.response(sent)
	}
	held := s.references() - 1 // by others than the execution
	if sent != nil {
		held--
	}
	if deferred {
		held--
	}
	null := r != nil && r.Membership.Null
	switch {
	case s.sending > 0 && !s.again && !null: // another thread sends a response right now
		if !s.kept {
			r.Keep()
			s.in.keep(s)
		}
	case s.r == nil || s.again || null:
		s.r, s.final = nil, true
	case s.released && (s.final || held == 0): // ends now
	case !s.kept:
		r.Keep()
		s.in.keep(s)
	}
	letGo := s.kept && s.released && (deferred || !wasKept) && !s.again && !null
	if s.released && s.final {
		s.r = nil
	}
	s.mu.Unlock()

	switch {
	case failed:
		r.Fail(err)
	case response == nil:
	case null:
		response.Release()
	default:
		r.Respond(response, true)
	}
	if letGo {
		r.LetGo()
	}
	if sent != nil {
		C.trt_response_free(sent)
		s.unref()
	}
	if deferred {
		s.unref()
	}
	s.unref()
}

// unused is called when nothing refers to the request any more. If the backend has sent no
// final response, nothing can send it any more.
func (s *slot) unused() {
	s.mu.Lock()
	r := s.r
	s.r = nil
	unanswered := r != nil && !s.final
	complete := s.begun && !s.in.model.decoupled // the one response came without the flag
	s.final = true
	s.mu.Unlock()
	switch {
	case !unanswered:
	case complete:
		r.Respond(nil, true)
	default:
		r.Fail(errNoResponse)
	}
	s.recycle()
}

// abandon ends a request for the server; the backend may still have it.
func (s *slot) abandon(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.in == in {
		s.gone = true
		s.r = nil
	}
}
