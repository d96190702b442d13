// Package trace samples requests and records what happens to them: in Triton's
// trace file format, or as OpenTelemetry spans. The settings, global and per
// model, change while the server runs. A request that is not sampled costs one
// atomic load.
package trace

import (
	"log/slog"

	"triton/pkg/status"
	"triton/server/infer"
)

// Options are the settings at the start, as --trace-config gives them.
type Options struct {
	// Config is the settings by scope: "" for mode, level, rate and count,
	// "triton" and "opentelemetry" for the modes' own. A setting may repeat.
	Config map[string][]Setting
	// Env looks up OTEL_* variables; nil: none are set.
	Env func(string) string
	Log *slog.Logger
}

// Setting is one "<name>=<value>".
type Setting struct{ Name, Value string }

// Tracer samples requests. It is safe for concurrent use; a nil Tracer samples
// none.
type Tracer struct{}

// New checks the options and starts what exports traces.
func New(Options) (*Tracer, error) { return &Tracer{}, nil }

// Trace is one sampled request: the front end's side of it. The core sees it as
// infer.Trace.
type Trace struct{}

var _ infer.Trace = (*Trace)(nil)

// Carrier reads the headers of a request, or its metadata, by lower-case name;
// empty when there is none.
type Carrier func(name string) string

// Sample decides whether a request for the model is traced; nil when not. The
// caller sets the result as the request's Trace, if not nil, and calls Close.
func (t *Tracer) Sample(model string, c Carrier) *Trace { return nil }

// Event notes a moment of the front end, such as "HTTP_RECV_START", by
// infer.Now. A nil Trace ignores it.
func (t *Trace) Event(name string, at int64) {}

// Close ends the front end's side, after its last event. A nil Trace ignores it.
func (t *Trace) Close() {}

// Begin is the core's: the request is about to be queued.
func (t *Trace) Begin(*infer.Request) {}

// Executed is the core's: a batch was run.
func (t *Trace) Executed(*infer.Batch) {}

// Respond is the core's: a response is about to be sent.
func (t *Trace) Respond(*infer.Request, *infer.Response) {}

// End is the core's: nobody needs the request any more.
func (t *Trace) End(*infer.Request) {}

// Update is a change of settings: absent keys stay, nil clears to what is
// inherited.
type Update map[string][]string

// Field is one setting as clients see it.
type Field struct {
	Name   string
	Values []string
}

// Settings are those of a model, or the global ones when model is empty, in
// the order in which Triton lists them.
func (t *Tracer) Settings(model string) []Field { return nil }

// Update changes the settings of a model, or the global ones.
func (t *Tracer) Update(model string, u Update) error {
	return status.New(status.Unavailable, "the server does not support tracing")
}

// Shutdown writes out what was recorded.
func (t *Tracer) Shutdown() error { return nil }
