package python

import (
	"sync"
	"time"

	"triton/pkg/status"
	"triton/server/backend"
	"triton/server/backend/child"
)

// readinessTimeout bounds how long a caller waits for is_ready.
const readinessTimeout = 5 * time.Second

// The results in frameReadiness.
const (
	readinessFalse = 0
	readinessTrue  = 1
	// Any other number: is_ready has failed.
)

// readiness is the is_ready of one instance. One call of it runs at a time; callers that
// come meanwhile share its result.
type readiness struct {
	handler uint32 // the number that the child knows is_ready by; 0: the model has none
	timeout time.Duration

	mu    sync.Mutex
	call  *readinessCall // the one that runs; nil: none
	ended bool           // the child has ended
}

// readinessCall is a call of is_ready.
type readinessCall struct {
	done chan struct{} // closed when err is set
	err  error
}

// checkedInstance is an instance of a model that has is_ready.
type checkedInstance struct{ *instance }

var (
	_ backend.ReadinessChecker = checkedInstance{}
	_ backend.BreakNotifier    = checkedInstance{}
)

// CheckReady calls is_ready, or waits for the call that runs.
func (in checkedInstance) CheckReady() error {
	r := &in.events.readiness
	call, shared := r.begin()
	if call == nil {
		return status.New(status.Internal, "Stub process '%s' is not healthy.", in.child.name)
	}
	if !shared {
		var m child.Message
		m.Begin(frameCheck).Uint32(r.handler)
		_ = in.child.process.Post(&m) // the body is short
	}
	timeout := time.NewTimer(r.timeout)
	defer timeout.Stop()
	select {
	case <-call.done:
		return call.err
	case <-timeout.C:
	}
	if shared {
		return status.New(status.Unavailable, "Timed out waiting for in-flight is_ready() response")
	}
	return status.New(status.Unavailable, "Timed out waiting for user-defined is_ready() response")
}

// begin returns the call that runs, or a new one that the caller has to start; nil after the
// end of the child.
func (r *readiness) begin() (call *readinessCall, shared bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.ended:
		return nil, false
	case r.call != nil:
		return r.call, true
	}
	r.call = &readinessCall{done: make(chan struct{})}
	return r.call, false
}

// end fails the call that runs: the child has ended.
func (r *readiness) end() {
	r.finish(status.New(status.Internal, "Stub process is not healthy while waiting for user-defined is_ready() response"), true)
}

// finish ends the call that runs, if there is one.
func (r *readiness) finish(err error, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = r.ended || ended
	if r.call == nil {
		return
	}
	r.call.err = err
	close(r.call.done)
	r.call = nil
}

// checked ends a call with the answer of the child.
func (e *events) checked(r *child.Reader) {
	result, text := r.Uint8(), r.String()
	if r.Err() != nil {
		return
	}
	var err error
	switch result {
	case readinessTrue:
	case readinessFalse:
		err = status.New(status.Unavailable, "Model '%s' is not ready (user-defined check failed).", e.log.instance)
	default:
		err = status.New(status.Internal, "%s", text)
	}
	e.readiness.finish(err, false)
}
