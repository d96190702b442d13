package grpcapi

import (
	"context"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server/frontend"
	"triton/server/trace"
)

// TraceSetting reads and changes the trace settings of a model, or the global settings.
func (s *service) TraceSetting(
	_ context.Context, r *inferencepb.TraceSettingRequest,
) (*inferencepb.TraceSettingResponse, error) {
	t := s.opts.Tracer
	if t == nil {
		return nil, statusError(status.New(status.Unavailable, "the server does not support trace"))
	}
	var change func() (trace.Change, error)
	if len(r.GetSettings()) > 0 {
		change = func() (trace.Change, error) { return traceChange(r.GetSettings()) }
	}
	fields, err := frontend.TraceSettings(t, s.svc.ModelReady, r.GetModelName(), change)
	if err != nil {
		return nil, statusError(err)
	}
	all := map[string]*inferencepb.TraceSettingResponse_SettingValue{}
	for _, f := range fields {
		v := all[f.Name]
		if v == nil {
			v = &inferencepb.TraceSettingResponse_SettingValue{}
			all[f.Name] = v
		}
		v.Value = append(v.Value, f.Values...)
	}
	return &inferencepb.TraceSettingResponse{Settings: all}, nil
}

func traceChange(settings map[string]*inferencepb.TraceSettingRequest_SettingValue) (c trace.Change, err error) {
	for _, name := range c.Names() {
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
	settings, err := frontend.LogSettings(s.opts.Logs, func(name string) (frontend.LogValue, bool) {
		v, ok := r.GetSettings()[name]
		return logValue{name, v}, ok
	})
	if err != nil {
		return nil, statusError(err)
	}
	return logSettings(settings), nil
}

type logValue struct {
	name    string
	setting *inferencepb.LogSettingsRequest_SettingValue
}

// Bool returns the value of a flag.
func (v logValue) Bool() (bool, error) {
	p, ok := v.setting.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_BoolParam)
	if !ok {
		return false, v.mistyped("boolean")
	}
	return p.BoolParam, nil
}

// Uint returns the value of a level.
func (v logValue) Uint() (uint64, error) {
	p, ok := v.setting.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_Uint32Param)
	if !ok {
		return 0, v.mistyped("int32")
	}
	return uint64(p.Uint32Param), nil
}

// Format returns the value of log_format.
func (v logValue) Format() (log.Format, error) {
	p, ok := v.setting.GetParameterChoice().(*inferencepb.LogSettingsRequest_SettingValue_StringParam)
	if !ok {
		return 0, v.mistyped("string")
	}
	f, err := log.ParseFormat(p.StringParam)
	if err != nil {
		return 0, status.New(status.InvalidArg, "invalid argument for log_format, got: %s", p.StringParam)
	}
	return f, nil
}

func (v logValue) mistyped(want string) error {
	return status.New(status.InvalidArg, "expect %s for '%s'", want, v.name)
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
