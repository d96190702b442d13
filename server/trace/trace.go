// Package trace samples requests and records what happens to them: in Triton's
// trace file format, or as OpenTelemetry spans. The settings, global and per
// model, change while the server runs. A request that is not sampled costs one
// atomic load as long as tracing is off.
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

// Options are the settings at the start, as --trace-config gives them.
type Options struct {
	// Config is the settings by scope: Global for mode, level, rate and count,
	// Triton and OpenTelemetry for the modes' own. A setting may repeat.
	Config map[string][]Setting
	// Env looks up OTEL_* variables; nil: none are set.
	Env func(string) string
	Log *slog.Logger
}

// Setting is one "<name>=<value>".
type Setting struct{ Name, Value string }

// Tracer samples requests. It is safe for concurrent use; a nil Tracer samples
// none.
type Tracer struct {
	mode   string
	listed []Setting
	out    *output
	spans  *spans // of the mode opentelemetry
	toMono int64  // from infer.Now to the machine's monotonic clock

	active atomic.Pointer[book] // nil while no request can be sampled
	book   atomic.Pointer[book]
	ids    atomic.Uint64

	mu     sync.Mutex // held by who changes the settings
	living map[*setting]struct{}
}

// New checks the options and starts what exports traces. The error is that of
// Options.Validate, or one of the exporter.
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

// newTracer is a tracer without an exporter.
func newTracer(s start, log *slog.Logger) *Tracer {
	t := &Tracer{mode: s.mode, listed: s.listed, toMono: monotonic() - infer.Now()}
	t.out = newOutput(s.file, log)
	global := newSetting(s.values, 0, s.mode, t.out)
	t.living = map[*setting]struct{}{global: {}}
	t.publish(&book{start: s.values, global: global, models: map[string]*setting{}})
	return t
}

func (t *Tracer) publish(b *book) {
	t.book.Store(b)
	if b.samples() {
		t.active.Store(b)
	} else {
		t.active.Store(nil)
	}
}

// forget drops settings that nothing goes by any more.
func (t *Tracer) forget() {
	for s := range t.living {
		if s.refs.Load() == 0 {
			delete(t.living, s)
		}
	}
}

// Carrier reads the headers of a request, or its metadata, by lower-case name;
// empty when there is none.
type Carrier func(name string) string

// Active says whether any request may be traced. If not, front ends need not
// prepare for Sample.
func (t *Tracer) Active() bool { return t != nil && t.active.Load() != nil }

// Sample decides whether a request for the model is traced; nil when not. The
// caller sets the result as the request's Trace, if not nil, and calls Close.
func (t *Tracer) Sample(model string, c Carrier) *Trace {
	if t == nil {
		return nil
	}
	b := t.active.Load()
	if b == nil {
		return nil
	}
	s := b.of(model)
	for !s.retain() {
		s = t.book.Load().of(model)
	}
	if tr := t.sample(s, c); tr != nil {
		return tr
	}
	s.release()
	return nil
}

func (t *Tracer) sample(s *setting, c Carrier) *Trace {
	if !s.samples() {
		return nil
	}
	var remote otel.SpanContext
	if t.spans != nil && c != nil {
		remote = extract(c)
	}
	if !s.hit(remote.IsValid()) {
		return nil
	}
	now := infer.Now()
	q := &request{tracer: t, set: s, sampled: now, wall: time.Now().UnixNano() - now, remote: remote}
	if t.spans != nil {
		q.span = newSpanContext(remote)
		if s.level&tensors != 0 {
			s.complain.Do(func() { t.out.log.Error("Tensor level tracing is not supported by the mode: " + t.mode) })
		}
	}
	return q.add(0)
}

// exportTime is how long the end waits for the receiver of the last spans.
const exportTime = 5 * time.Second

// leastExportTime is how long it does when it must not wait.
const leastExportTime = 50 * time.Millisecond

// Shutdown writes out what was recorded, until ctx ends. Traces that end later
// are lost.
func (t *Tracer) Shutdown(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.active.Store(nil)
	for s := range t.living {
		s.flush()
	}
	t.mu.Unlock()
	err := t.out.close()
	if t.spans != nil {
		end, cancel := context.WithTimeout(context.Background(), exportTime)
		defer cancel()
		// Not at once: the SDK ends nothing when it is given no time at all.
		defer context.AfterFunc(ctx, func() { time.AfterFunc(leastExportTime, cancel) })()
		err = errors.Join(err, t.spans.shutdown(end))
	}
	return err
}
