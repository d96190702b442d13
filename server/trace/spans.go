package trace

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// spans turns requests into OpenTelemetry spans.
//
//	InferRequest                  the front end's moments
//	  <model>                     the core's
//	    compute                   the batch's, as this request shared it
//	    <model of a child>...
//	batch                         links to the models' spans of the batch
//
// The last is a trace of its own and no part of Triton's.
type spans struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	queue    *queue
}

// export makes the spans of a request that is over. They are queued together or
// not at all.
func (s *spans) export(q *request) {
	n := 1
	for _, t := range q.traces {
		n += t.spanCount()
	}
	if !s.queue.admit(n) {
		return
	}
	s.span(q, q.remote, q.span, "InferRequest", q.first(), infer.Now(), q.front)
	for i, t := range q.traces {
		parent := q.span
		if i > 0 {
			parent = q.byID(t.parent).span
		}
		s.exportTrace(q, t, parent)
	}
}

// first is when the request came: it was sampled later, when its model was
// known. A stream that waits for it is no part of it.
func (q *request) first() int64 {
	first := q.sampled
	for _, e := range q.front {
		if e.name != "GRPC_WAITREAD_START" {
			first = min(first, e.at)
		}
	}
	return first
}

func (q *request) byID(id uint64) *Trace {
	for _, t := range q.traces {
		if t.id == id {
			return t
		}
	}
	return q.traces[0]
}

// spanCount is how many spans exportTrace makes.
func (t *Trace) spanCount() int {
	handling, compute := t.core()
	n := min(len(handling), 1) + min(len(compute), 1)
	if t.batch != nil {
		n++
	}
	return n
}

func (s *spans) exportTrace(q *request, t *Trace, parent otel.SpanContext) {
	handling, compute := t.core()
	version, _ := strconv.ParseInt(t.version, 10, 64) // the core's own
	if len(handling) > 0 {
		attrs := []attribute.KeyValue{
			attribute.String("triton.model_name", t.model),
			attribute.Int64("triton.model_version", version),
			attribute.Int64("triton.trace_id", int64(t.id)),
			attribute.Int64("triton.trace_parent_id", int64(t.parent)),
		}
		if t.name != "" {
			attrs = append(attrs, attribute.String("triton.request_id", t.name))
		}
		s.span(q, parent, t.span, t.model, t.begin, t.end, handling, otel.WithAttributes(attrs...))
	}
	if len(compute) > 0 {
		s.span(q, t.span, newSpanContext(t.span), "compute", t.times.ComputeStart, t.times.ComputeEnd, compute)
	}
	if b := t.batch; b != nil {
		s.span(q, otel.SpanContext{}, newSpanContext(otel.SpanContext{}), "batch", b.start, b.end, nil,
			otel.WithSpanKind(otel.SpanKindInternal), otel.WithLinks(b.links...), otel.WithAttributes(
				attribute.String("triton.model_name", t.model),
				attribute.Int64("triton.model_version", version),
				attribute.Int("triton.batch_size", b.rows),
				attribute.Int("triton.request_count", b.requests),
			))
	}
}

// span makes one span with an identity that was chosen before.
func (s *spans) span(
	q *request, parent, self otel.SpanContext, name string, begin, end int64, events []event, opts ...otel.SpanStartOption,
) {
	ctx := context.WithValue(context.Background(), chosen{}, self)
	if parent.IsValid() {
		ctx = otel.ContextWithSpanContext(ctx, parent)
	}
	opts = append([]otel.SpanStartOption{otel.WithSpanKind(otel.SpanKindServer), otel.WithTimestamp(q.time(begin))}, opts...)
	_, span := s.tracer.Start(ctx, name, opts...)
	for _, e := range events {
		span.AddEvent(e.name, otel.WithTimestamp(q.time(e.at)))
	}
	span.End(otel.WithTimestamp(q.time(end)))
}

// time is a moment by infer.Now as time of day.
func (q *request) time(at int64) time.Time { return time.Unix(0, at+q.wall) }

func (s *spans) shutdown(ctx context.Context) error { return s.provider.Shutdown(ctx) }
