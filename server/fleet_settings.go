package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"triton/pkg/log"
	settings "triton/server/frontend" // frontend is a type here
	"triton/server/trace"
)

var errNoTracer = errors.New("the server does not trace")

// fleetSettings are the settings of log and traces for the controller of the fleet state.
type fleetSettings struct{ server *Server }

// Log returns the log settings that clients may change.
func (s fleetSettings) Log() (map[string]json.RawMessage, error) {
	now, err := settings.LogSettings(s.server.opts.Logs, nil)
	if err != nil {
		return nil, err
	}
	return rawValues(map[string]any{
		"log_info": now.Info, "log_warning": now.Warning, "log_error": now.Error,
		"log_verbose_level": now.Verbose, "log_format": now.Format.String(),
	})
}

// SetLog changes log settings.
func (s fleetSettings) SetLog(change map[string]json.RawMessage) error {
	now, err := s.Log()
	if err != nil {
		return err
	}
	for name := range change {
		if now[name] == nil {
			return fmt.Errorf("there is no log setting %q", name)
		}
	}
	_, err = settings.LogSettings(s.server.opts.Logs, func(name string) (settings.LogValue, bool) {
		v, ok := change[name]
		return rawLogValue(v), ok
	})
	return err
}

// rawLogValue is the value of a log setting as JSON.
type rawLogValue json.RawMessage

func (v rawLogValue) Bool() (on bool, err error)  { return on, json.Unmarshal(v, &on) }
func (v rawLogValue) Uint() (n uint64, err error) { return n, json.Unmarshal(v, &n) }
func (v rawLogValue) Format() (log.Format, error) {
	var name string
	if err := json.Unmarshal(v, &name); err != nil {
		return 0, err
	}
	return log.ParseFormat(name)
}

// Trace returns the trace settings of a model that clients may change, or the global ones.
func (s fleetSettings) Trace(model string) (map[string]json.RawMessage, error) {
	if s.server.tracer == nil {
		return nil, errNoTracer
	}
	fields, err := settings.TraceSettings(s.server.tracer, s.server.models.ModelReady, model, nil)
	if err != nil {
		return nil, err
	}
	var c trace.Change
	all := map[string]any{}
	for _, f := range fields {
		switch {
		case f.Name == trace.FileName || !slices.Contains(c.Names(), f.Name):
		case f.Name == trace.LevelName:
			all[f.Name] = f.Values
		default:
			all[f.Name] = f.Values[0]
		}
	}
	return rawValues(all)
}

// SetTrace changes trace settings of a model, or the global ones.
func (s fleetSettings) SetTrace(model string, change map[string]json.RawMessage) error {
	if s.server.tracer == nil {
		return errNoTracer
	}
	_, err := settings.TraceSettings(s.server.tracer, s.server.models.ModelReady, model, func() (trace.Change, error) {
		var c trace.Change
		for name, value := range change {
			if !slices.Contains(c.Names(), name) {
				return c, fmt.Errorf("there is no trace setting %q", name)
			}
			texts, err := rawTexts(value)
			if err == nil {
				err = c.Set(name, texts)
			}
			if err != nil {
				return c, err
			}
		}
		return c, nil
	})
	return err
}

// rawTexts returns a value that is null, a text, a number or a list of texts as texts.
func rawTexts(value json.RawMessage) ([]string, error) {
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return list, nil
	}
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}, nil
	}
	var number json.Number
	if err := json.Unmarshal(value, &number); err != nil {
		return nil, fmt.Errorf("%s is no text, number or list of texts", value)
	}
	return []string{number.String()}, nil
}

// rawValues returns values as JSON.
func rawValues(all map[string]any) (map[string]json.RawMessage, error) {
	raw := map[string]json.RawMessage{}
	for name, v := range all {
		text, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		raw[name] = text
	}
	return raw, nil
}
