//go:build cgo && linux

package plugin

// #include "host.h"
import "C"

import (
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
)

// readyLimit bounds how long a caller, and the end of an instance, wait for the readiness check of
// a library.
var readyLimit = 5 * time.Second

// readiness runs the readiness checks of an instance one at a time; callers that come meanwhile
// share the result.
type readiness struct {
	mu     sync.Mutex
	check  *check // the one that runs; nil: none
	closed bool
}

// check is a call of the library.
type check struct {
	done chan struct{} // closed when err is set
	err  error
}

// checkedInstance is an instance of a backend that checks its readiness.
type checkedInstance struct{ *instance }

var _ backend.ReadinessChecker = checkedInstance{}

// CheckReady asks the library. One that does not answer in time is not ready.
func (in checkedInstance) CheckReady() error {
	c := in.ready.begin(func() error { return take(C.trt_call_instance(in.model.lib.ready, in.c)) })
	if c == nil {
		return status.New(status.Unavailable, "the instance has ended")
	}
	if !c.wait() {
		return status.New(status.Unavailable, "the readiness check of instance '%s' has not been answered, or took longer than %s", C.GoString(in.c.name), readyLimit)
	}
	return c.err
}

// begin returns the check that runs, or starts one; nil after the end of the instance.
func (r *readiness) begin(call func() error) *check {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.check != nil {
		return r.check
	}
	c := &check{done: make(chan struct{})}
	r.check = c
	go func() {
		c.err = call()
		r.mu.Lock()
		r.check = nil
		r.mu.Unlock()
		close(c.done)
	}()
	return c
}

// wait reports whether the check has ended in time.
func (c *check) wait() bool {
	timer := time.NewTimer(readyLimit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
		return false
	}
}

// close ends the checks, and reports false if one of them does not return.
func (r *readiness) close() bool {
	r.mu.Lock()
	r.closed = true
	c := r.check
	r.mu.Unlock()
	return c == nil || c.wait()
}

// leave leaves an instance to the library, which still works with it: nothing of it is freed, nor
// of its model.
func (in *instance) leave() error {
	in.model.left.Store(true)
	if in.owned {
		in.thread.Close()
	}
	return status.New(status.Internal, "the readiness check of instance '%s' has not returned within %s; the instance is not finalized, and its memory is not freed, because the backend still uses it",
		C.GoString(in.c.name), readyLimit)
}
