// Package trace samples requests and records their events in Triton's trace file format or as
// OpenTelemetry spans. Settings, global and per model, may change while the server runs. While
// tracing is off, sampling a request costs one atomic load.
package trace

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	otel "go.opentelemetry.io/otel/trace"

	"triton/server/infer"
)

// Options are the initial settings, those of --trace-config.
type Options struct {
	// Config are the settings by scope: Global for mode, level, rate and count, Triton and
	// OpenTelemetry for the settings of a mode. A setting may repeat.
	Config map[string][]Setting
	// Env looks up OTEL_* variables; nil: no variable is set.
	Env func(string) string
	Log *slog.Logger
}

// Setting is one setting of the command line, "<name>=<value>".
type Setting struct{ Name, Value string }

// Tracer samples requests. It is safe for concurrent use. A nil Tracer samples none.
type Tracer struct {
	mode   string
	listed []Setting
	out    *output
	spans  *spans // of the mode opentelemetry
	toMono int64  // from infer.Now to the machine's monotonic clock

	active  atomic.Pointer[snapshot] // nil while no request can be sampled
	current atomic.Pointer[snapshot]
	ids     atomic.Uint64

	mu       sync.Mutex            // serializes changes of the settings
	samplers map[*sampler]struct{} // those in force or with traces in flight
}

// New checks the options and starts the exporter of their mode. It returns the error of
// Options.Validate or of the exporter.
func New(o Options) (*Tracer, error) {
	s, err := o.parse()
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := newTracer(s, o.Log)
	if s.mode == OpenTelemetry {
		if t.spans, err = newSpans(context.Background(), s.export, o); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// newTracer returns a tracer without an exporter.
func newTracer(s parsedConfig, log *slog.Logger) *Tracer {
	t := &Tracer{mode: s.mode, listed: s.listed, toMono: monotonic() - infer.Now()}
	t.out = newOutput(s.file, log)
	global := newSampler(s.values, 0, s.mode, t.out)
	t.samplers = map[*sampler]struct{}{global: {}}
	t.publish(&snapshot{start: s.values, global: global, models: map[string]*sampler{}})
	return t
}

func (t *Tracer) publish(b *snapshot) {
	t.current.Store(b)
	if b.enabled() {
		t.active.Store(b)
	} else {
		t.active.Store(nil)
	}
}

// dropUnused drops samplers that are replaced and have no traces in flight.
func (t *Tracer) dropUnused() {
	for s := range t.samplers {
		if s.refs.Load() == 0 {
			delete(t.samplers, s)
		}
	}
}

// Carrier returns a header of a request by its name in lower case, or "".
type Carrier func(name string) string

// Active reports whether any request may be traced. If not, frontends need not prepare for Sample.
func (t *Tracer) Active() bool { return t != nil && t.active.Load() != nil }

// Sample decides whether a request for the model is traced, and returns nil if not. The caller
// makes the result the request's Trace and emits infer.EventSent at the end.
func (t *Tracer) Sample(model string, c Carrier) *Trace {
	if t == nil {
		return nil
	}
	b := t.active.Load()
	if b == nil {
		return nil
	}
	s := b.sampler(model)
	for !s.retain() {
		s = t.current.Load().sampler(model)
	}
	if tr := t.sample(s, c); tr != nil {
		return tr
	}
	s.release()
	return nil
}

func (t *Tracer) sample(s *sampler, c Carrier) *Trace {
	if !s.enabled() {
		return nil
	}
	var remote otel.SpanContext
	if t.spans != nil && c != nil {
		remote = extract(c)
	}
	if !s.sample(remote.IsValid()) {
		return nil
	}
	now := infer.Now()
	q := &request{tracer: t, sampler: s, sampled: now, wall: time.Now().UnixNano() - now, remote: remote}
	if t.spans != nil {
		q.span = newSpanContext(remote)
		if s.level&tensors != 0 {
			s.warnTensors.Do(func() { t.out.log.Error("Tensor level tracing is not supported by the mode: " + t.mode) })
		}
	}
	return q.add(0)
}

// exportTime is how long Shutdown waits for the receiver of the last spans.
const exportTime = 5 * time.Second

// leastExportTime is how long Shutdown waits for the receiver after its context has ended.
const leastExportTime = 50 * time.Millisecond

// Shutdown writes all recorded traces; ctx ends the export of spans. Traces that end later are
// lost.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.active.Store(nil)
	for s := range t.samplers {
		s.flush()
	}
	t.mu.Unlock()
	err := t.out.close()
	if t.spans != nil {
		end, cancel := context.WithTimeout(context.Background(), exportTime)
		defer cancel()
		// With a context that has already ended, the SDK would not stop anything.
		defer context.AfterFunc(ctx, func() { time.AfterFunc(leastExportTime, cancel) })()
		err = errors.Join(err, t.spans.shutdown(end))
	}
	return err
}
