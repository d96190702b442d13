package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/trace"
)

// TraceSetting reads and changes the trace settings of a model or all.
func (s *service) TraceSetting(
	_ context.Context, r *inferencepb.TraceSettingRequest,
) (*inferencepb.TraceSettingResponse, error) {
	t := s.opts.Tracer
	if t == nil {
		return nil, failure(status.New(status.Unavailable, "the server does not support trace"))
	}
	if err := s.traceable(r.GetModelName()); err != nil {
		return nil, failure(err)
	}
	if len(r.GetSettings()) > 0 {
		c, err := traceChange(r.GetSettings())
		if err == nil {
			err = t.Update(r.GetModelName(), c)
		}
		if err != nil {
			return nil, failure(err)
		}
	}
	all := map[string]*inferencepb.TraceSettingResponse_SettingValue{}
	for _, f := range t.Settings(r.GetModelName()) {
		v := all[f.Name]
		if v == nil {
			v = &inferencepb.TraceSettingResponse_SettingValue{}
			all[f.Name] = v
		}
		v.Value = append(v.Value, f.Values...)
	}
	return &inferencepb.TraceSettingResponse{Settings: all}, nil
}

// traceable finds that a model, when there is one, is not ready.
func (s *service) traceable(model string) error {
	if model == "" {
		return nil
	}
	ready, err := s.svc.ModelReady(model, "")
	if err == nil && !ready {
		err = status.New(status.InvalidArg, "Request for unknown model : %s", model)
	}
	return err
}

func traceChange(settings map[string]*inferencepb.TraceSettingRequest_SettingValue) (c trace.Change, err error) {
	for _, name := range trace.Changeable() {
		if v, ok := settings[name]; ok {
			if err = c.Set(name, v.GetValue()); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// LogSettings reads and changes the log settings.
func (s *service) LogSettings(
	_ context.Context, r *inferencepb.LogSettingsRequest,
) (*inferencepb.LogSettingsResponse, error) {
	logs := s.opts.Logs
	if logs == nil {
		return nil, failure(status.New(status.Unavailable, "the server does not support dynamic logging"))
	}
	for _, c := range logChanges {
		v, ok := r.GetSettings()[c.name]
		if !ok {
			continue
		}
		if err := logs.Update(func(s *log.Settings) error { return c.set(s, v) }); err != nil {
			return nil, failure(err)
		}
	}
	return logSettings(logs.Settings()), nil
}

type logValue = inferencepb.LogSettingsRequest_SettingValue

// logChanges are the settings that can be changed, in the order in which they
// take effect: an error leaves the ones before it changed.
var logChanges = [...]struct {
	name string
	set  func(s *log.Settings, v *logValue) error
}{
	{"log_file", func(*log.Settings, *logValue) error {
		return status.New(status.Unsupported, "log file location can not be updated through network protocol")
	}},
	{"log_info", func(s *log.Settings, v *logValue) error { return setBool(&s.Info, v, "log_info") }},
	{"log_warning", func(s *log.Settings, v *logValue) error { return setBool(&s.Warning, v, "log_warning") }},
	{"log_error", func(s *log.Settings, v *logValue) error { return setBool(&s.Error, v, "log_error") }},
	{"log_verbose_level", func(s *log.Settings, v *logValue) error {
		n, ok := v.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_Uint32Param)
		if !ok {
			return status.New(status.InvalidArg, "expect int32 for 'log_verbose_level'")
		}
		s.Verbose = max(int(int32(n.Uint32Param)), 0) // Triton keeps it with a sign
		return nil
	}},
	{"log_format", func(s *log.Settings, v *logValue) error {
		name, ok := v.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_StringParam)
		if !ok {
			return status.New(status.InvalidArg, "expect string for 'log_format'")
		}
		f, err := log.ParseFormat(name.StringParam)
		if err != nil {
			return status.New(status.InvalidArg, "invalid argument for log_format, got: %s", name.StringParam)
		}
		s.Format = f
		return nil
	}},
}

func setBool(to *bool, v *logValue, name string) error {
	b, ok := v.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_BoolParam)
	if !ok {
		return status.New(status.InvalidArg, "expect boolean for '%s'", name)
	}
	*to = b.BoolParam
	return nil
}

func logSettings(s log.Settings) *inferencepb.LogSettingsResponse {
	type value = inferencepb.LogSettingsResponse_SettingValue
	flag := func(b bool) *value {
		return &value{ParameterChoice: &inferencepb.LogSettingsResponse_SettingValue_BoolParam{BoolParam: b}}
	}
	text := func(t string) *value {
		return &value{ParameterChoice: &inferencepb.LogSettingsResponse_SettingValue_StringParam{StringParam: t}}
	}
	return &inferencepb.LogSettingsResponse{Settings: map[string]*value{
		"log_file":    text(s.File),
		"log_info":    flag(s.Info),
		"log_warning": flag(s.Warning),
		"log_error":   flag(s.Error),
		"log_verbose_level": {ParameterChoice: &inferencepb.LogSettingsResponse_SettingValue_Uint32Param{
			Uint32Param: uint32(s.Verbose),
		}},
		"log_format": text(s.Format.String()),
	}}
}
