package infer

import "log/slog"

// Trace observes the events of one sampled request and decides what to record of them. Events
// of the core never overlap; events of the frontend and of the backend may come at any time.
type Trace interface {
	// Observe takes an event. It must not keep what the event points to.
	Observe(e Event)
	// Child returns the trace of a request that a model makes while it serves this one.
	Child() Trace
}

// Event is one step of a sampled request.
type Event struct {
	Kind     EventKind
	Request  *Request  // of the core's events
	Batch    *Batch    // of EventExecuted
	Response *Response // of EventResponded
	Name     string    // of EventTimestamp and EventActivity
	At       int64     // of EventTimestamp and EventActivity, by Now
}

// EventKind says what happened to a request.
type EventKind uint8

// The events. Events of the core have no time stamp: at EventEnded, Request.Times has them all.
const (
	// EventReceived: the request has passed the checks and is about to be queued.
	EventReceived EventKind = iota + 1
	// EventExecuted: a batch has run. There is one per batch, for its first traced request. Unless
	// the model is decoupled, it comes before the first response is delivered.
	EventExecuted
	// EventResponded: a response is about to be sent. The compute stamps in Request.Times are not
	// complete yet.
	EventResponded
	// EventEnded: the frontend and the core have released the request. Request.Times is complete;
	// Queued is 0 when it never waited, ComputeStart is 0 when it never ran.
	EventEnded
	// EventTimestamp: a time stamp with a name, from the frontend.
	EventTimestamp
	// EventActivity: a time stamp with a name, from the backend.
	EventActivity
	// EventSent: the frontend has sent the reply. It is the frontend's last event.
	EventSent
)

// Emit lets *t observe an event. If the trace panics, Emit sets *t to nil and the request
// goes on without it. log may be nil. Callers check *t before the call, so that requests without
// a trace do not pay for it.
func Emit(t *Trace, e Event, log *slog.Logger) {
	defer containTrace(t, e.Request, log)
	(*t).Observe(e)
}

// containTrace is deferred around each call of a trace. r and log may be nil.
func containTrace(t *Trace, r *Request, log *slog.Logger) {
	if p := recover(); p != nil {
		*t = nil
		logPanic(log, r, "a trace", p)
	}
}

// EmitReceived emits EventReceived if the request is traced.
func (r *Request) EmitReceived() {
	if r.Trace != nil {
		r.emit(Event{Kind: EventReceived})
	}
}

// emit emits an event of a traced request.
func (r *Request) emit(e Event) {
	e.Request = r
	Emit(&r.Trace, e, r.Log)
}

// childTrace returns the trace of a request that is made for r, which is traced. It returns nil
// when the trace panics.
func (r *Request) childTrace() Trace {
	defer containTrace(&r.Trace, r, r.Log)
	return r.Trace.Child()
}
