package trace

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
)

// tracerName is the instrumentation scope of all spans.
const tracerName = "triton-server"

// newSpans starts an exporter to an OTLP receiver, which may be unreachable.
func newSpans(ctx context.Context, e export, o Options) (*spans, error) {
	to, err := dial(ctx, e.url, o.Env)
	if err != nil {
		return nil, fmt.Errorf("OpenTelemetry exporter: %w", err)
	}
	return exportTo(to, e, o), nil
}

// exportTo starts the batch processor of an exporter.
func exportTo(to sdk.SpanExporter, e export, o Options) *spans {
	q := &queue{SpanExporter: to, log: o.Log, size: int64(e.queueSize)}
	p := sdk.NewTracerProvider(
		sdk.WithSampler(sdk.AlwaysSample()),
		sdk.WithIDGenerator(identities{}),
		sdk.WithResource(describe(e.resource, o.Env)),
		sdk.WithBatcher(q,
			sdk.WithMaxQueueSize(max(e.queueSize, 1)),
			sdk.WithMaxExportBatchSize(max(min(e.batchSize, e.queueSize), 1)),
			sdk.WithBatchTimeout(max(e.delay, 1e6))),
	)
	return &spans{provider: p, tracer: p.Tracer(tracerName), queue: q}
}

// dial returns the exporter for a URL: OTLP over HTTP, or over gRPC when the scheme is grpc or
// grpcs. Without a URL the SDK's environment variables apply.
func dial(ctx context.Context, to string, env func(string) string) (sdk.SpanExporter, error) {
	if to == "" {
		if env != nil && env("OTEL_EXPORTER_OTLP_ENDPOINT")+env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != "" {
			return otlptracehttp.New(ctx)
		}
		to = "http://localhost:4318/v1/traces"
	}
	if !strings.Contains(to, "://") {
		to = "http://" + to
	}
	u, err := url.Parse(to)
	if err != nil {
		return nil, err
	}
	switch u.Scheme {
	case "grpc":
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(u.Host), otlptracegrpc.WithInsecure())
	case "grpcs":
		return otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(u.Host))
	case "http", "https":
		if u.Path == "" {
			u.Path = "/v1/traces"
		}
		return otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(u.String()))
	}
	return nil, fmt.Errorf("scheme of url %q is not http, https, grpc or grpcs", to)
}

// describe returns the resource. Settings override the environment, which overrides defaults.
func describe(settings []string, env func(string) string) *resource.Resource {
	attrs := []attribute.KeyValue{attribute.String("service.name", "triton-inference-server")}
	add := func(pair string) {
		if key, value, ok := strings.Cut(pair, "="); ok && key != "" {
			attrs = append(attrs, attribute.String(key, value))
		}
	}
	if env != nil {
		for pair := range strings.SplitSeq(env("OTEL_RESOURCE_ATTRIBUTES"), ",") {
			if plain, err := url.PathUnescape(strings.TrimSpace(pair)); err == nil {
				add(plain)
			}
		}
		if name := env("OTEL_SERVICE_NAME"); name != "" {
			add("service.name=" + name)
		}
	}
	for _, pair := range settings {
		add(pair)
	}
	all, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(attrs...))
	if err != nil {
		return resource.NewSchemaless(attrs...)
	}
	return all // the last of equal keys wins
}

// queue is an exporter that counts the spans queued in the SDK, which would drop single spans
// silently.
type queue struct {
	sdk.SpanExporter
	log  *slog.Logger
	size int64

	held    atomic.Int64
	dropped atomic.Int64 // since the last export
}

// admit reports whether n more spans fit.
func (q *queue) admit(n int) bool {
	if q.held.Add(int64(n)) <= q.size {
		return true
	}
	q.held.Add(int64(-n))
	if q.dropped.Add(int64(n)) == int64(n) {
		q.log.Warn("BatchSpanProcessor queue is full - dropping span.")
	}
	return false
}

// ExportSpans sends spans and logs errors.
func (q *queue) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	err := q.SpanExporter.ExportSpans(ctx, spans)
	q.held.Add(-int64(len(spans)))
	if n := q.dropped.Swap(0); n > 0 {
		q.log.Warn("spans were dropped because the queue was full", "spans", n)
	}
	if err != nil {
		q.log.Error("spans could not be exported", "spans", len(spans), "error", err)
	}
	return nil
}
