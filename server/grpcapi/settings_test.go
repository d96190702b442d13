package grpcapi_test

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/server/grpcapi"
	"triton/server/trace"
)

// configure serves with a tracer and a log.
func configure(t *testing.T, config map[string][]trace.Setting) inferencepb.GRPCInferenceServiceClient {
	t.Helper()
	tracer, err := trace.New(trace.Options{Config: config})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tracer.Shutdown(context.Background())) })
	logs, err := log.Open(log.DefaultSettings(), &bytes.Buffer{}, &bytes.Buffer{})
	require.NoError(t, err)
	s := newStub()
	return inferencepb.NewGRPCInferenceServiceClient(serve(t, s, s, func(o *grpcapi.Options) { o.Tracer, o.Logs = tracer, logs }))
}

func requireFailure(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	require.Equal(t, code, grpcstatus.Code(err))
	require.Equal(t, text, grpcstatus.Convert(err).Message())
}

// The answers are those of Triton 2.51.
func TestTraceSettingErrors(t *testing.T) {
	t.Parallel()
	c := configure(t, map[string][]trace.Setting{trace.Triton: {{Name: "file", Value: filepath.Join(t.TempDir(), "t")}}})
	for _, q := range []struct {
		model, name string
		values      []string
		code        codes.Code
		text        string
	}{
		{"", "trace_file", nil, codes.Unimplemented, "trace file location can not be updated through network protocol"},
		{"", "trace_level", []string{"OFF", "OFF"}, codes.InvalidArgument, "Expect only one trace level 'OFF' is specified"},
		{"", "trace_rate", []string{"1", "2"}, codes.InvalidArgument, "expect only 1 value for 'trace_rate'"},
		{"", "trace_rate", []string{"x"}, codes.InvalidArgument, "Unable to parse 'trace_rate', got: x"},
		{
			"", "trace_rate",
			[]string{"5000000000"},
			codes.InvalidArgument,
			"Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 5000000000",
		},
		{"", "trace_count", []string{"-2"}, codes.InvalidArgument, "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"},
		{"", "log_frequency", []string{"1", "2"}, codes.InvalidArgument, "expect only 1 value for 'log_frequency'"},
		{"nope", "foo", nil, codes.InvalidArgument, "Request for unknown model : nope"},
	} {
		_, err := c.TraceSetting(t.Context(), &inferencepb.TraceSettingRequest{
			ModelName: q.model, Settings: map[string]*inferencepb.TraceSettingRequest_SettingValue{q.name: {Value: q.values}},
		})
		requireFailure(t, err, q.code, q.text)
	}
}

func TestTraceSetting(t *testing.T) {
	t.Parallel()
	c := configure(t, map[string][]trace.Setting{
		trace.Global:        {{Name: "mode", Value: "opentelemetry"}, {Name: "rate", Value: "2"}},
		trace.OpenTelemetry: {{Name: "resource", Value: "a=b"}, {Name: "resource", Value: "service.name=x"}},
	})
	change := func(model string, settings map[string]*inferencepb.TraceSettingRequest_SettingValue) map[string]*inferencepb.TraceSettingResponse_SettingValue {
		r, err := c.TraceSetting(t.Context(), &inferencepb.TraceSettingRequest{ModelName: model, Settings: settings})
		require.NoError(t, err)
		return r.GetSettings()
	}
	all := change("", nil)
	require.Equal(t, []string{"OFF"}, all["trace_level"].GetValue())
	require.Equal(t, []string{"a=b", "service.name=x"}, all["resource"].GetValue())
	require.NotContains(t, all, "trace_file")
	all = change("echo", map[string]*inferencepb.TraceSettingRequest_SettingValue{
		"trace_rate": {Value: []string{"7"}}, "trace_level": {Value: []string{"TENSORS", "TIMESTAMPS"}}, "foo": {Value: []string{"1"}},
	})
	require.Equal(t, []string{"7"}, all["trace_rate"].GetValue())
	require.Equal(t, []string{"TIMESTAMPS", "TENSORS"}, all["trace_level"].GetValue())
	require.Equal(t, []string{"2"}, change("", nil)["trace_rate"].GetValue())
	all = change("echo", map[string]*inferencepb.TraceSettingRequest_SettingValue{"trace_rate": {}})
	require.Equal(t, []string{"2"}, all["trace_rate"].GetValue(), "an empty list clears")
}

// The answers are those of Triton 2.51, but for the format json, which it does
// not have.
func TestLogSettings(t *testing.T) {
	t.Parallel()
	c := configure(t, nil)
	const was = `{"settings":{"log_file":{"string_param":""},"log_info":{"bool_param":true},"log_warning":{"bool_param":true},` +
		`"log_error":{"bool_param":true},"log_verbose_level":{"uint32_param":0},"log_format":{"string_param":"default"}}}`
	for _, q := range []struct {
		settings string
		code     codes.Code
		text     string
	}{
		{`{}`, codes.OK, was},
		{`{"log_file":{"string_param":"x"}}`, codes.Unimplemented, "log file location can not be updated through network protocol"},
		{`{"log_file":{}}`, codes.Unimplemented, "log file location can not be updated through network protocol"},
		{`{"log_info":{"uint32_param":1}}`, codes.InvalidArgument, "expect boolean for 'log_info'"},
		{`{"log_info":{}}`, codes.InvalidArgument, "expect boolean for 'log_info'"},
		{`{"log_warning":{"string_param":"x"}}`, codes.InvalidArgument, "expect boolean for 'log_warning'"},
		{`{"log_error":{"string_param":"x"}}`, codes.InvalidArgument, "expect boolean for 'log_error'"},
		{`{"log_verbose_level":{"string_param":"1"}}`, codes.InvalidArgument, "expect int32 for 'log_verbose_level'"},
		{`{"log_verbose_level":{"uint32_param":3000000000}}`, codes.OK, was},
		{`{"log_format":{"bool_param":true}}`, codes.InvalidArgument, "expect string for 'log_format'"},
		{`{"log_format":{"string_param":"foo"}}`, codes.InvalidArgument, "invalid argument for log_format, got: foo"},
		{`{"log_format":{"string_param":"default"},"foo":{"uint32_param":1}}`, codes.OK, was},
		{`{"log_warning":{"bool_param":false},"log_verbose_level":{}}`, codes.InvalidArgument, "expect int32 for 'log_verbose_level'"},
		{
			`{"log_info":{"bool_param":false},"log_error":{"bool_param":false},"log_verbose_level":{"uint32_param":2},"log_format":{"string_param":"json"}}`,
			codes.OK,
			`{"settings":{"log_file":{"string_param":""},"log_info":{"bool_param":false},"log_warning":{"bool_param":false},` +
				`"log_error":{"bool_param":false},"log_verbose_level":{"uint32_param":2},"log_format":{"string_param":"json"}}}`,
		},
	} {
		var r inferencepb.LogSettingsRequest
		require.NoError(t, protojson.Unmarshal([]byte(`{"settings":`+q.settings+`}`), &r))
		resp, err := c.LogSettings(t.Context(), &r)
		if q.code != codes.OK {
			requireFailure(t, err, q.code, q.text)
			continue
		}
		require.NoError(t, err, q.settings)
		text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(resp)
		require.NoError(t, err)
		require.JSONEq(t, q.text, string(text), q.settings)
	}
}

func TestNoSettings(t *testing.T) {
	t.Parallel()
	c := inferencepb.NewGRPCInferenceServiceClient(start(t, newStub()))
	_, err := c.TraceSetting(t.Context(), &inferencepb.TraceSettingRequest{})
	requireFailure(t, err, codes.Unavailable, "the server does not support trace")
	_, err = c.LogSettings(t.Context(), &inferencepb.LogSettingsRequest{})
	requireFailure(t, err, codes.Unavailable, "the server does not support dynamic logging")
}
