package trace

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"

	"go.opentelemetry.io/otel/propagation"
	otel "go.opentelemetry.io/otel/trace"
)

// headers adapts a Carrier to OpenTelemetry, for reading.
type headers Carrier

func (h headers) Get(name string) string { return h(name) }
func (h headers) Set(string, string)     {}
func (h headers) Keys() []string         { return nil }

// extract returns the W3C trace context of a request. It is invalid when there is none.
func extract(c Carrier) otel.SpanContext {
	if c("traceparent") == "" {
		return otel.SpanContext{}
	}
	return otel.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), headers(c)))
}

// Context returns the trace context for models that continue the trace: JSON with the member
// traceparent and, if there is one, tracestate. It is empty when traces go to files.
func (t *Trace) Context() string {
	if !t.span.IsValid() {
		return ""
	}
	members := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(otel.ContextWithSpanContext(context.Background(), t.span), members)
	text, err := json.Marshal(members)
	if err != nil {
		return ""
	}
	return string(text)
}

// newSpanContext returns a new identity in the trace of parent, or in a new trace. Identities are
// chosen before spans are made, so that spans can refer to each other while their requests run.
func newSpanContext(parent otel.SpanContext) otel.SpanContext {
	c := otel.SpanContextConfig{
		TraceID: parent.TraceID(), SpanID: newSpanID(), TraceFlags: otel.FlagsSampled, TraceState: parent.TraceState(),
	}
	for !c.TraceID.IsValid() {
		binary.LittleEndian.PutUint64(c.TraceID[:8], rand.Uint64())
		binary.LittleEndian.PutUint64(c.TraceID[8:], rand.Uint64())
	}
	return otel.NewSpanContext(c)
}

func newSpanID() (id otel.SpanID) {
	for !id.IsValid() {
		binary.LittleEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

// identityKey is the key of the identity of the next span in a context.
type identityKey struct{}

// identities is an IDGenerator that returns the chosen identities.
type identities struct{}

func (identities) NewIDs(ctx context.Context) (otel.TraceID, otel.SpanID) {
	c := identityOf(ctx)
	return c.TraceID(), c.SpanID()
}

func (identities) NewSpanID(ctx context.Context, _ otel.TraceID) otel.SpanID {
	return identityOf(ctx).SpanID()
}

func identityOf(ctx context.Context) otel.SpanContext {
	if c, ok := ctx.Value(identityKey{}).(otel.SpanContext); ok {
		return c
	}
	return newSpanContext(otel.SpanContext{})
}
