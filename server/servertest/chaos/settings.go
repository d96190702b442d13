package chaos

import (
	"fmt"
	"time"

	"triton/pkg/client"
)

// logSettings changes how much the server logs, for a while.
type logSettings struct{}

func (logSettings) applies(m Model, _ Control) bool { return m.Name == "" }

func (logSettings) play(e *episode) error {
	_, err := e.client().SetLogSettings(e.ctx, client.LogSettings{"log_verbose_level": uint32(e.rng.IntN(3)), "log_info": e.rng.IntN(2) == 0})
	if err != nil {
		return fmt.Errorf("changing the log settings: %w", err)
	}
	e.wait(500 * time.Millisecond)
	got, err := e.client().SetLogSettings(e.ctx, client.LogSettings{"log_verbose_level": uint32(0), "log_info": true})
	if err == nil && fmt.Sprint(got["log_verbose_level"], got["log_info"]) != "0 true" {
		err = fmt.Errorf("the log settings are %v", got)
	}
	return err
}

// traceSettings traces requests for a while: of one model, or of all.
type traceSettings struct{}

func (traceSettings) applies(m Model, _ Control) bool { return m.Name == "" }

func (traceSettings) play(e *episode) error {
	model := ""
	if e.rng.IntN(2) == 0 {
		model = e.order[e.rng.IntN(5)].Name // they are always there
	}
	_, err := e.client().SetTraceSettings(e.ctx, model, client.TraceSettings{"trace_level": {"TIMESTAMPS"}, "trace_rate": {fmt.Sprint(1 + e.rng.IntN(50))}})
	if err != nil {
		return fmt.Errorf("changing the trace settings of %q: %w", model, err)
	}
	e.wait(500 * time.Millisecond)
	_, err = e.client().SetTraceSettings(e.ctx, model, client.TraceSettings{"trace_level": nil, "trace_rate": nil})
	return err
}
