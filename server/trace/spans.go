package trace

import (
	"context"
	"slices"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// spans turns requests into OpenTelemetry spans.
//
//	InferRequest                  timestamps of the frontend
//	  <model>                     timestamps of the core
//	    compute                   execution of the batch
//	    <X>                       from <X>_START to <X>_END of the backend
//	    <model of a child>...
//	batch                         links to the model spans of the batch
//
// The batch span is a trace of its own. Triton has none.
type spans struct {
	provider *sdk.TracerProvider
	tracer   otel.Tracer
	queue    *queue
}

// span describes a span.
type span struct {
	name         string
	parent, self otel.SpanContext
	begin, end   int64 // by infer.Now
	events       []event
	opts         []otel.SpanStartOption
}

// export queues the spans of an ended request, all of them or none.
func (s *spans) export(q *request) {
	all := []span{{name: "InferRequest", parent: q.remote, self: q.span, begin: q.first(), end: infer.Now(), events: q.frontendEvents}}
	for i, t := range q.traces {
		parent := q.span
		if i > 0 {
			parent = q.byID(t.parent).span
		}
		all = t.appendSpans(all, parent)
	}
	if !s.queue.admit(len(all)) {
		return
	}
	for i := range all {
		s.start(q, &all[i])
	}
}

// first returns when the request began to arrive, which is before it was sampled. The time that a
// stream waited for it does not count.
func (q *request) first() int64 {
	first := q.sampled
	for _, e := range q.frontendEvents {
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

func (t *Trace) appendSpans(all []span, parent otel.SpanContext) []span {
	handling, compute := t.core()
	version, _ := strconv.ParseInt(t.version, 10, 64) // the core formatted it
	model := []attribute.KeyValue{attribute.String("triton.model_name", t.model), attribute.Int64("triton.model_version", version)}
	if len(handling) > 0 {
		attrs := append(slices.Clip(model),
			attribute.Int64("triton.trace_id", int64(t.id)), attribute.Int64("triton.trace_parent_id", int64(t.parent)))
		if t.name != "" {
			attrs = append(attrs, attribute.String("triton.request_id", t.name))
		}
		inside, outside := t.activitySpans()
		all = append(all, span{
			name: t.model, parent: parent, self: t.span, begin: t.begin, end: t.end,
			events: inOrder(append(handling, outside...)), opts: []otel.SpanStartOption{otel.WithAttributes(attrs...)},
		})
		all = append(all, inside...)
	}
	if len(compute) > 0 {
		all = append(all, span{
			name: "compute", parent: t.span, self: newSpanContext(t.span),
			begin: t.times.ComputeStart, end: t.times.ComputeEnd, events: compute,
		})
	}
	if b := t.batch; b != nil {
		attrs := append(slices.Clip(model), attribute.Int("triton.batch_size", b.rows), attribute.Int("triton.request_count", b.requests))
		all = append(all, span{
			name: "batch", self: newSpanContext(otel.SpanContext{}), begin: b.start, end: b.end,
			opts: []otel.SpanStartOption{
				otel.WithSpanKind(otel.SpanKindInternal), otel.WithLinks(b.links...), otel.WithAttributes(attrs...),
			},
		})
	}
	return all
}

// start makes and ends one span with the identity that was chosen before.
func (s *spans) start(q *request, p *span) {
	ctx := context.WithValue(context.Background(), identityKey{}, p.self)
	if p.parent.IsValid() {
		ctx = otel.ContextWithSpanContext(ctx, p.parent)
	}
	opts := append([]otel.SpanStartOption{otel.WithSpanKind(otel.SpanKindServer), otel.WithTimestamp(q.time(p.begin))}, p.opts...)
	_, made := s.tracer.Start(ctx, p.name, opts...)
	for _, e := range p.events {
		made.AddEvent(e.name, otel.WithTimestamp(q.time(e.at)))
	}
	made.End(otel.WithTimestamp(q.time(p.end)))
}

// time converts a time by infer.Now.
func (q *request) time(at int64) time.Time { return time.Unix(0, at+q.wall) }

func (s *spans) shutdown(ctx context.Context) error { return s.provider.Shutdown(ctx) }
