package frontend

import (
	"cmp"
	"log/slog"

	"triton/server/infer"
	"triton/server/trace"
)

// Tracing samples the requests of one frontend.
type Tracing struct {
	tracer *trace.Tracer
	log    *slog.Logger
	names  *timestampNames
}

// timestampNames are the names that a protocol's timestamps have in Triton's traces.
type timestampNames struct{ receiving, received, sending, sent string }

var (
	httpNames = timestampNames{"HTTP_RECV_START", "HTTP_RECV_END", "HTTP_SEND_START", "HTTP_SEND_END"}
	grpcNames = timestampNames{"GRPC_WAITREAD_START", "GRPC_WAITREAD_END", "GRPC_SEND_START", "GRPC_SEND_END"}
)

// HTTPTracing returns the tracing of HTTP requests. t may be nil, and log too.
func HTTPTracing(t *trace.Tracer, log *slog.Logger) Tracing { return Tracing{t, log, &httpNames} }

// GRPCTracing returns the tracing of gRPC requests. t may be nil, and log too.
func GRPCTracing(t *trace.Tracer, log *slog.Logger) Tracing { return Tracing{t, log, &grpcNames} }

// Active reports whether any request may be traced. If not, frontends need not prepare for
// Sample.
func (s *Tracing) Active() bool { return s.tracer.Active() }

// Now returns infer.Now, or 0 while no request can be traced.
func (s *Tracing) Now() int64 {
	if !s.Active() {
		return 0
	}
	return infer.Now()
}

// Sample decides whether a request for a model is traced and returns nil if not. header reads the
// request's headers: a client's own trace context continues there. receiving and received are
// when the request began to arrive and when it was complete, by infer.Now; 0 if that is unknown
// or still to come. The caller calls Close on the result.
func (s *Tracing) Sample(model string, header trace.Carrier, receiving, received int64) *Trace {
	sampled := s.tracer.Sample(model, header)
	if sampled == nil {
		return nil
	}
	t := &Trace{trace: sampled, log: s.log, names: s.names}
	if receiving != 0 {
		t.mark(s.names.receiving, receiving)
	}
	if received != 0 {
		t.mark(s.names.received, received)
	}
	return t
}

// Trace is the frontend's part in the trace of one request. The methods of a nil Trace do
// nothing.
type Trace struct {
	trace infer.Trace // nil after a panic in it
	log   *slog.Logger
	names *timestampNames
}

// Attach makes the trace observe the request.
func (t *Trace) Attach(r *infer.Request) {
	if t != nil {
		r.Trace = t.trace
	}
}

// Received records that the request is complete.
func (t *Trace) Received() {
	if t != nil {
		t.mark(t.names.received, 0)
	}
}

// Answered records when the model's first response was complete; at 0 stands for now. Callers pass
// at because they may have woken up later than that, and not in the order of the responses.
func (t *Trace) Answered(at int64) {
	if t != nil {
		t.mark("INFER_RESPONSE_COMPLETE", at)
	}
}

// Sending records that a reply begins to be written.
func (t *Trace) Sending() {
	if t != nil {
		t.mark(t.names.sending, 0)
	}
}

// Sent records that a reply was written.
func (t *Trace) Sent() {
	if t != nil {
		t.mark(t.names.sent, 0)
	}
}

// Close ends the frontend's part.
func (t *Trace) Close() {
	if t != nil {
		t.emit(infer.Event{Kind: infer.EventSent})
	}
}

// mark records a timestamp; 0 stands for now. It is a function of its own so that its callers can
// be inlined: without a trace they cost one comparison.
func (t *Trace) mark(name string, at int64) {
	t.emit(infer.Event{Kind: infer.EventTimestamp, Name: name, At: cmp.Or(at, infer.Now())})
}

func (t *Trace) emit(e infer.Event) {
	if t.trace != nil {
		infer.Emit(&t.trace, e, t.log)
	}
}
