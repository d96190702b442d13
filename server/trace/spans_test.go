package trace

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// openSpans starts a tracer whose spans end in memory.
func openSpans(t *testing.T, args ...string) (*Tracer, *tracetest.InMemoryExporter, *bytes.Buffer) {
	t.Helper()
	config, err := ParseConfig(append([]string{"mode=opentelemetry", "level=TIMESTAMPS"}, args...))
	require.NoError(t, err)
	var logged bytes.Buffer
	o := Options{Config: config, Log: slog.New(slog.NewTextHandler(&logged, nil))}
	s, err := o.parse()
	require.NoError(t, err)
	to := tracetest.NewInMemoryExporter()
	tr := newTracer(s, o.Log)
	tr.spans = exportTo(to, s.export, o)
	t.Cleanup(func() { require.NoError(t, tr.Shutdown(context.Background())) })
	return tr, to, &logged
}

// exported waits for the spans so far, by name.
func exported(t *testing.T, tr *Tracer, to *tracetest.InMemoryExporter) map[string][]tracetest.SpanStub {
	t.Helper()
	require.NoError(t, tr.spans.provider.ForceFlush(t.Context()))
	all := map[string][]tracetest.SpanStub{}
	for _, s := range to.GetSpans() {
		all[s.Name] = append(all[s.Name], s)
	}
	return all
}

func events(s tracetest.SpanStub) []string {
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	return names
}

func carrier(parent string) Carrier {
	return func(name string) string {
		return map[string]string{"traceparent": parent, "tracestate": "vendor=1"}[name]
	}
}

const remoteParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"

func TestSpanTree(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=1")
	require.True(t, serve(tr, "m"))
	all := exported(t, tr, to)
	root, model, compute, batch := all["InferRequest"][0], all["m"][0], all["compute"][0], all["batch"][0]
	require.Len(t, all, 4)

	require.False(t, root.Parent.IsValid())
	require.Equal(t, []string{"HTTP_RECV_START", "HTTP_RECV_END", "INFER_RESPONSE_COMPLETE", "HTTP_SEND_START", "HTTP_SEND_END"}, events(root))
	require.Empty(t, root.Attributes)
	require.Equal(t, root.SpanContext.SpanID(), model.Parent.SpanID())
	require.Equal(t, []string{"REQUEST_START", "QUEUE_START", "REQUEST_END"}, events(model))
	require.Equal(t, []attribute.KeyValue{
		attribute.String("triton.model_name", "m"), attribute.Int64("triton.model_version", 1), attribute.Int64("triton.trace_id", 1),
		attribute.Int64("triton.trace_parent_id", 0), attribute.String("triton.request_id", "r"),
	}, model.Attributes)
	require.Equal(t, model.SpanContext.SpanID(), compute.Parent.SpanID())
	require.Equal(t, []string{"COMPUTE_START", "COMPUTE_INPUT_END", "COMPUTE_OUTPUT_START", "COMPUTE_END"}, events(compute))
	for _, s := range []tracetest.SpanStub{root, model, compute} {
		require.Equal(t, otel.SpanKindServer, s.SpanKind)
		require.Equal(t, root.SpanContext.TraceID(), s.SpanContext.TraceID())
		require.False(t, s.EndTime.Before(s.StartTime))
		require.Equal(t, "triton-server", s.InstrumentationScope.Name)
		require.Contains(t, s.Resource.Attributes(), attribute.String("service.name", "triton-inference-server"))
	}
	require.False(t, batch.Parent.IsValid())
	require.Equal(t, model.SpanContext.SpanID(), batch.Links[0].SpanContext.SpanID())
}

// A request with the trace context of its client is always traced, as a part of that trace.
func TestPropagation(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=0")
	require.Nil(t, tr.Sample("m", nil))
	require.Nil(t, tr.Sample("m", carrier("")))
	require.Nil(t, tr.Sample("m", carrier("00-00000000000000000000000000000000-b7ad6b7169203331-01")))
	s := tr.Sample("m", carrier(remoteParent))
	require.JSONEq(t, `{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-`+s.span.SpanID().String()+`-01","tracestate":"vendor=1"}`, s.Context())
	sent(s)
	root := exported(t, tr, to)["InferRequest"][0]
	require.Equal(t, "0af7651916cd43dd8448eb211c80319c", root.SpanContext.TraceID().String())
	require.Equal(t, "b7ad6b7169203331", root.Parent.SpanID().String())
	require.Equal(t, "vendor=1", root.SpanContext.TraceState().String())
}

// Forced samples do not use up the count, and go on when it is used up.
func TestForcedAndCounted(t *testing.T) {
	t.Parallel()
	tr, _, _ := openSpans(t, "rate=2", "count=1")
	sample := func(c Carrier) bool {
		s := tr.Sample("m", c)
		sent(s)
		return s != nil
	}
	require.True(t, sample(carrier(remoteParent)))
	require.Equal(t, "TIMESTAMPS 2 1", show(tr, ""))
	require.True(t, sample(nil), "the forced one was counted")
	require.Equal(t, "TIMESTAMPS 2 0", show(tr, ""))
	require.False(t, sample(nil))
	require.True(t, sample(carrier(remoteParent)))
	require.NoError(t, change(t, tr, "", "trace_level=OFF"))
	require.False(t, sample(carrier(remoteParent)))
}

func TestSpansOfChildren(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=1")
	parent := tr.Sample("ensemble", nil)
	outer := newRequest("ensemble", parent)
	inner := newRequest("part", parent.Child())
	run(inner)
	inner.Release()
	outer.Release()
	outer.Release()
	sent(parent)
	all := exported(t, tr, to)
	require.Equal(t, all["InferRequest"][0].SpanContext.SpanID(), all["ensemble"][0].Parent.SpanID())
	require.Equal(t, all["ensemble"][0].SpanContext.SpanID(), all["part"][0].Parent.SpanID())
	require.Contains(t, all["part"][0].Attributes, attribute.Int64("triton.trace_parent_id", 1))
	require.Len(t, all["compute"], 1, "an ensemble does not compute")
}

// One span per batch links to the requests of it that are traced.
func TestBatchSpan(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=1")
	var traces []*Trace
	var requests []*infer.Request
	for range 3 {
		s := tr.Sample("m", nil)
		traces = append(traces, s)
		requests = append(requests, newRequest("m", s))
	}
	untraced := newRequest("m", tr.Sample("m", nil))
	sent(untraced.Trace.(*Trace))
	untraced.Trace.Observe(infer.Event{Kind: infer.EventEnded, Request: untraced})
	untraced.Trace = nil
	run(slices.Concat([]*infer.Request{untraced}, requests)...)
	for i, r := range requests {
		r.Release()
		sent(traces[i])
	}
	untraced.Release()
	batches := exported(t, tr, to)["batch"]
	require.Len(t, batches, 1)
	require.Equal(t, otel.SpanKindInternal, batches[0].SpanKind)
	require.Len(t, batches[0].Links, 3)
	for i, l := range batches[0].Links {
		require.Equal(t, traces[i].span.SpanID(), l.SpanContext.SpanID())
	}
	require.Equal(t, []attribute.KeyValue{
		attribute.String("triton.model_name", "m"), attribute.Int64("triton.model_version", 1),
		attribute.Int("triton.batch_size", 4), attribute.Int("triton.request_count", 4),
	}, batches[0].Attributes)
}

// When the queue is full, requests lose all their spans or none, which is logged once until the
// next export.
func TestFullQueue(t *testing.T) {
	t.Parallel()
	tr, to, logged := openSpans(t, "rate=1", "opentelemetry,bsp_max_queue_size=9", "opentelemetry,bsp_schedule_delay=3600000")
	for range 4 {
		require.True(t, serve(tr, "m"))
	}
	require.Len(t, exported(t, tr, to)["InferRequest"], 2)
	require.Equal(t, 1, bytes.Count(logged.Bytes(), []byte("BatchSpanProcessor queue is full - dropping span.")))
	require.Contains(t, logged.String(), "spans=8")
	require.True(t, serve(tr, "m"))
	require.Len(t, exported(t, tr, to)["InferRequest"], 3)
}

func TestTensorsAreNotExported(t *testing.T) {
	t.Parallel()
	tr, to, logged := openSpans(t, "rate=1", "level=TENSORS")
	require.True(t, serve(tr, "m"))
	require.True(t, serve(tr, "m"))
	require.Len(t, exported(t, tr, to)["m"], 2)
	require.Equal(t, 1, bytes.Count(logged.Bytes(), []byte("Tensor level tracing is not supported by the mode: opentelemetry")))
}

// slow is an exporter that reports when it is called and waits to be released.
type slow struct {
	*tracetest.InMemoryExporter
	called, released chan struct{}
}

func (s slow) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	close(s.called)
	<-s.released
	return nil
}

// The settings can be read and changed while the last spans are exported.
func TestSettingsDuringShutdown(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=1")
	exporter := slow{to, make(chan struct{}), make(chan struct{})}
	tr.spans.queue.SpanExporter = exporter
	require.True(t, serve(tr, "m"))
	ended := make(chan error, 1)
	go func() { ended <- tr.Shutdown(context.Background()) }()
	<-exporter.called
	require.NoError(t, change(t, tr, "", "trace_rate=2"))
	require.Empty(t, ended)
	close(exporter.released)
	require.NoError(t, <-ended)
}

// silent is an exporter whose receiver answers only when it is released.
type silent struct {
	*tracetest.InMemoryExporter
	released chan struct{}
}

func (s silent) ExportSpans(context.Context, []sdk.ReadOnlySpan) error {
	<-s.released
	return nil
}

// A receiver that does not answer delays Shutdown for a time, and less when nobody waits.
func TestShutdownWithASilentReceiver(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			tr, to, _ := openSpans(t, "rate=1")
			released := make(chan struct{})
			defer close(released) // the exporter outlives Shutdown
			tr.spans.queue.SpanExporter = silent{to, released}
			require.True(t, serve(tr, "m"))
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			want := exportTime
			if ended {
				cancel()
				want = leastExportTime
			}
			begin := time.Now()
			require.Error(t, tr.Shutdown(ctx))
			require.Equal(t, want, time.Since(begin)) // the time of synctest
		})
	}
}

// What a backend notes becomes spans inside of the model's.
func TestCustomSpans(t *testing.T) {
	t.Parallel()
	tr, to, _ := openSpans(t, "rate=1")
	s := tr.Sample("m", nil)
	r := newRequest("m", s)
	for i, name := range []string{"PLAIN", "OUTER_START", "NOTE", "INNER_START", "INNER_END", "OUTER_END", "OPEN_START"} {
		s.Observe(infer.Event{Kind: infer.EventActivity, Name: name, At: infer.Now() + int64(i)})
	}
	run(r)
	r.Release()
	sent(s)
	all := exported(t, tr, to)
	model, outer, inner := all["m"][0], all["OUTER"][0], all["INNER"][0]
	require.Subset(t, events(model), []string{"PLAIN", "REQUEST_START"})
	require.Equal(t, []string{"OUTER_START", "NOTE", "OUTER_END"}, events(outer))
	require.Equal(t, model.SpanContext.SpanID(), outer.Parent.SpanID())
	require.Equal(t, outer.SpanContext.SpanID(), inner.Parent.SpanID())
	require.Equal(t, model.EndTime, all["OPEN"][0].EndTime)
	require.Zero(t, tr.spans.queue.held.Load())
}
