package client

import (
	"context"
	"fmt"

	"triton/pkg/inferencepb"
)

// TraceSettings are trace settings by name, such as trace_rate. Only trace_level
// may have more than one value.
type TraceSettings map[string][]string

// TraceSettings returns the settings of a model, or the server's if model is empty.
func (c *Client) TraceSettings(ctx context.Context, model string) (TraceSettings, error) {
	return c.trace(ctx, &inferencepb.TraceSettingRequest{ModelName: model})
}

// SetTraceSettings changes the settings in change and returns all of them. A
// setting without values is reset: for a model to the server's value, for the
// server to the value at its start.
func (c *Client) SetTraceSettings(ctx context.Context, model string, change TraceSettings) (TraceSettings, error) {
	req := &inferencepb.TraceSettingRequest{ModelName: model, Settings: map[string]*inferencepb.TraceSettingRequest_SettingValue{}}
	for name, values := range change {
		req.Settings[name] = &inferencepb.TraceSettingRequest_SettingValue{Value: values}
	}
	return c.trace(ctx, req)
}

func (c *Client) trace(ctx context.Context, req *inferencepb.TraceSettingRequest) (TraceSettings, error) {
	r, err := call[inferencepb.TraceSettingResponse](ctx, c, inferencepb.GRPCInferenceService_TraceSetting_FullMethodName, req)
	if err != nil {
		return nil, err
	}
	all := TraceSettings{}
	for name, s := range r.GetSettings() {
		all[name] = s.GetValue()
	}
	return all, nil
}

// LogSettings are the settings of the server's log by name: log_file, log_info,
// log_warning, log_error, log_verbose_level, log_format. Values are bool, uint32
// or string.
type LogSettings map[string]any

// LogSettings returns all settings of the server's log.
func (c *Client) LogSettings(ctx context.Context) (LogSettings, error) {
	return c.log(ctx, &inferencepb.LogSettingsRequest{})
}

// SetLogSettings changes the settings in change and returns all of them.
func (c *Client) SetLogSettings(ctx context.Context, change LogSettings) (LogSettings, error) {
	req := &inferencepb.LogSettingsRequest{Settings: map[string]*inferencepb.LogSettingsRequest_SettingValue{}}
	for name, value := range change {
		s := &inferencepb.LogSettingsRequest_SettingValue{}
		switch v := value.(type) {
		case bool:
			s.ParameterChoice = &inferencepb.LogSettingsRequest_SettingValue_BoolParam{BoolParam: v}
		case uint32:
			s.ParameterChoice = &inferencepb.LogSettingsRequest_SettingValue_Uint32Param{Uint32Param: v}
		case string:
			s.ParameterChoice = &inferencepb.LogSettingsRequest_SettingValue_StringParam{StringParam: v}
		default:
			return nil, fmt.Errorf("log setting %q: the value is a %T, use bool, uint32 or string", name, value)
		}
		req.Settings[name] = s
	}
	return c.log(ctx, req)
}

func (c *Client) log(ctx context.Context, req *inferencepb.LogSettingsRequest) (LogSettings, error) {
	r, err := call[inferencepb.LogSettingsResponse](ctx, c, inferencepb.GRPCInferenceService_LogSettings_FullMethodName, req)
	if err != nil {
		return nil, err
	}
	all := LogSettings{}
	for name, s := range r.GetSettings() {
		switch v := s.GetParameterChoice().(type) {
		case *inferencepb.LogSettingsResponse_SettingValue_BoolParam:
			all[name] = v.BoolParam
		case *inferencepb.LogSettingsResponse_SettingValue_Uint32Param:
			all[name] = v.Uint32Param
		case *inferencepb.LogSettingsResponse_SettingValue_StringParam:
			all[name] = v.StringParam
		}
	}
	return all, nil
}
