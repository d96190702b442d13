package perf

import (
	"context"
	"errors"
	"time"

	"triton/pkg/client"
)

// restoreTimeout is how long the server may take to restore its trace settings.
const restoreTimeout = 5 * time.Second

// setTraces changes the server's trace settings and returns a function that restores those that
// were in force. perf_analyzer leaves them changed.
func (r *run) setTraces(ctx context.Context) (restore func(), err error) {
	change := r.settings.Trace
	if len(change) == 0 {
		return func() {}, nil
	}
	if r.server == nil {
		return nil, &SetupError{Err: errors.New("only Triton has trace settings")}
	}
	before, err := r.server.TraceSettings(ctx, "")
	if err == nil {
		_, err = r.server.SetTraceSettings(ctx, "", change)
	}
	if err != nil {
		return nil, &SetupError{What: "failed to set the trace settings", Err: err}
	}
	old := client.TraceSettings{}
	for name := range change {
		old[name] = before[name]
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
		defer cancel()
		if _, err := r.server.SetTraceSettings(ctx, "", old); err != nil {
			r.warn("the server's trace settings stay changed: %v", err)
		}
	}, nil
}
