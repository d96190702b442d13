package httpapi_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/log"
	"triton/server/httpapi"
	"triton/server/trace"
)

func read(t *testing.T, addr, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+path, nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// question is a body, or none for a read, and what Triton 2.51 answered.
type question struct {
	body   string
	status int
	answer string
}

func ask(t *testing.T, addr, path string, questions []question) {
	t.Helper()
	for _, q := range questions {
		status, answer := 0, ""
		if q.body == "GET" {
			status, answer = read(t, addr, path)
		} else {
			status, answer = post(t, addr, path, q.body)
		}
		require.Equal(t, q.answer, answer, "%s %s", path, q.body)
		require.Equal(t, q.status, status, "%s %s", path, q.body)
	}
}

func TestTraceSetting(t *testing.T) {
	both(t, func(t *testing.T, serve func(testing.TB, *stub, httpapi.Options) string) {
		tracer, err := trace.New(trace.Options{Config: map[string][]trace.Setting{
			trace.Triton: {{Name: "file", Value: "/t.json"}, {Name: "foo", Value: "bar"}},
		}})
		require.NoError(t, err)
		addr := serve(t, newService(), httpapi.Options{Tracer: tracer})
		const was = `{"trace_level":["OFF"],"trace_rate":"1000","trace_count":"-1","log_frequency":"0","trace_file":"/t.json","trace_mode":"triton","foo":"bar"}`
		const noString = `{"error":"attempt to access JSON non-string as string"}`
		ask(t, addr, "/v2/trace/setting", []question{
			{"GET", 200, was},
			{``, 400, `{"error":"failed to parse the request JSON buffer: The document is empty. at 0"}`},
			{`{}`, 200, was},
			{`[]`, 200, was},
			{`5`, 200, was},
			{`{"trace_file":null}`, 501, `{"error":"trace file location can not be updated through network protocol"}`},
			{`{"trace_level":"OFF"}`, 400, `{"error":"attempt to access JSON non-array as array"}`},
			{`{"trace_level":["OFF","TENSORS"]}`, 400, `{"error":"Expect only one trace level 'OFF' is specified"}`},
			{`{"trace_level":["FOO"]}`, 200, was},
			{`{"trace_level":[]}`, 200, was},
			{`{"trace_level":[5]}`, 400, noString},
			{`{"trace_rate":5}`, 400, noString},
			{`{"trace_rate":"x"}`, 400, `{"error":"Unable to parse 'trace_rate', got: x"}`},
			{`{"trace_count":"-2"}`, 400, `{"error":"Unable to parse 'trace_count'. Expecting value >= -1, got:-2"}`},
			{`{"log_frequency":7}`, 400, noString},
		})
		ask(t, addr, "/v2/models/nope/trace/setting", []question{
			{"GET", 400, `{"error":"Request for unknown model : nope"}`},
			{`x`, 400, `{"error":"Request for unknown model : nope"}`},
		})
		ask(t, addr, "/v2/models/simple/trace/setting", []question{
			{
				`{"trace_level":["TENSORS","TIMESTAMPS"],"trace_rate":"3","trace_count":"4","log_frequency":"5"}`, 200,
				`{"trace_level":["TIMESTAMPS","TENSORS"],"trace_rate":"3","trace_count":"4","log_frequency":"5","trace_file":"/t.json","trace_mode":"triton","foo":"bar"}`,
			},
			{`{"trace_level":null,"trace_rate":null,"trace_count":null,"log_frequency":null}`, 200, was},
		})
		ask(t, addr, "/v2/models/simple/versions/1/trace/setting", []question{{`{}`, 404, `{"error":"Not Found"}`}})
	})
}

func TestLogSettings(t *testing.T) {
	both(t, func(t *testing.T, serve func(testing.TB, *stub, httpapi.Options) string) {
		logs, err := log.Open(log.DefaultSettings(), &bytes.Buffer{}, &bytes.Buffer{})
		require.NoError(t, err)
		addr := serve(t, newService(), httpapi.Options{Logs: logs})
		const was = `{"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"default"}`
		const noBool = `{"error":"attempt to access JSON non-boolean as boolean"}`
		const noNumber = `{"error":"attempt to access JSON non-unsigned-integer as unsigned-integer"}`
		ask(t, addr, "/v2/logging", []question{
			{"GET", 200, was},
			{``, 400, `{"error":"failed to parse the request JSON buffer: The document is empty. at 0"}`},
			{`{}`, 200, was},
			{`[1]`, 200, was},
			{`{"log_file":"x"}`, 501, `{"error":"log file location can not be updated through network protocol"}`},
			{`{"log_file":null,"log_info":null}`, 200, was},
			{`{"log_info":1}`, 400, noBool},
			{`{"log_info":false,"log_warning":"x"}`, 400, noBool},
			{"GET", 200, `{"log_file":"","log_info":false,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"default"}`},
			{`{"log_info":true,"log_verbose_level":-1}`, 400, noNumber},
			{`{"log_verbose_level":1.0}`, 400, noNumber},
			{`{"log_verbose_level":4294967296}`, 200, was},
			{`{"log_verbose_level":3000000000}`, 200, was},
			{`{"log_verbose_level":0,"log_format":"foo"}`, 503, `{"error":"invalid argument for --log_format, got: foo"}`},
			{`{"log_format":5}`, 400, `{"error":"attempt to access JSON non-string as string"}`},
			{
				`{"log_verbose_level":1,"log_format":"ISO8601"}`, 200,
				`{"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":1,"log_format":"ISO8601"}`,
			},
			{ // not one of Triton's formats
				`{"log_verbose_level":0,"log_format":"json"}`, 200,
				`{"log_file":"","log_info":true,"log_warning":true,"log_error":true,"log_verbose_level":0,"log_format":"json"}`,
			},
		})
	})
}

func TestNoSettings(t *testing.T) {
	both(t, func(t *testing.T, serve func(testing.TB, *stub, httpapi.Options) string) {
		addr := serve(t, newService(), httpapi.Options{})
		ask(t, addr, "/v2/trace/setting", []question{{"GET", 503, `{"error":"the server does not support tracing"}`}})
		ask(t, addr, "/v2/logging", []question{{"GET", 503, `{"error":"the server does not support dynamic logging"}`}})
	})
}
