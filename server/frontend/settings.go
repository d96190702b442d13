package frontend

import (
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/trace"
)

// TraceSettings returns the trace settings of a model, or the global ones if model is empty. It
// first applies the change that the function change returns, unless change is nil. ready reports
// whether a version of a model is ready.
func TraceSettings(
	t *trace.Tracer, ready func(model, version string) (bool, error), model string, change func() (trace.Change, error),
) ([]trace.Field, error) {
	if model != "" {
		ok, err := ready(model, "")
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, status.New(status.InvalidArg, "Request for unknown model : %s", model)
		}
	}
	if change != nil {
		c, err := change()
		if err != nil {
			return nil, err
		}
		if err := t.Update(model, c); err != nil {
			return nil, err
		}
	}
	return t.Settings(model), nil
}

// LogValue is the value of a log setting as a codec decodes it.
type LogValue interface {
	Bool() (bool, error)
	Uint() (uint64, error)
	Format() (log.Format, error)
}

// LogSettings returns the log settings. It first applies the changes that get returns, one after
// the other in a fixed order. An error ends this; the changes before it stay. get may be nil. If
// logs is nil, LogSettings returns an error.
func LogSettings(logs *log.Sink, get func(name string) (v LogValue, ok bool)) (log.Settings, error) {
	if logs == nil {
		return log.Settings{}, status.New(status.Unavailable, "the server does not support dynamic logging")
	}
	if get != nil {
		for i := range logChanges {
			c := &logChanges[i]
			v, ok := get(c.name)
			if !ok {
				continue
			}
			if err := logs.Update(func(s *log.Settings) error { return c.set(s, v) }); err != nil {
				return log.Settings{}, err
			}
		}
	}
	return logs.Settings(), nil
}

// logChanges are the changeable settings in the order in which they take effect.
var logChanges = [...]struct {
	name string
	set  func(s *log.Settings, v LogValue) error
}{
	{"log_file", func(*log.Settings, LogValue) error {
		return status.New(status.Unsupported, "log file location can not be updated through network protocol")
	}},
	{"log_info", func(s *log.Settings, v LogValue) (err error) { s.Info, err = v.Bool(); return err }},
	{"log_warning", func(s *log.Settings, v LogValue) (err error) { s.Warning, err = v.Bool(); return err }},
	{"log_error", func(s *log.Settings, v LogValue) (err error) { s.Error, err = v.Bool(); return err }},
	{"log_verbose_level", func(s *log.Settings, v LogValue) error {
		n, err := v.Uint()
		s.Verbose = max(int(int32(n)), 0) // Triton keeps 32 bits with a sign
		return err
	}},
	{"log_format", func(s *log.Settings, v LogValue) (err error) { s.Format, err = v.Format(); return err }},
}
