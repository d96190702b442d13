//go:build cgo

package main_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A fault is what a backend of testdata/plugin/faults.c does to a request.
type fault struct {
	status int
	body   string   // a part of the answer
	noted  []string // parts of what its calls returned, or of other records of the log
}

const (
	echoed     = `"data":[1,8]`
	unanswered = "the backend released the request without a final response"
)

// pluginFaults are the rules that a backend can break without ending its process. In the
// process of the server as in one of its own, each costs its own request at most, and what is
// refused is refused with the name of the function.
var pluginFaults = map[string]fault{
	"none":                  {500, "the test backend knows no such fault", nil},
	"send_again":            {200, echoed, []string{"noted: send_again: TRITONBACKEND_ResponseSend: "}},
	"two_finals":            {200, echoed, []string{"noted: two_finals: "}},
	"flags_after_final":     {200, echoed, []string{"noted: flags_after_final: "}},
	"send_null":             {200, echoed, []string{"noted: send_null: TRITONBACKEND_ResponseSend: "}},
	"no_answer":             {500, unanswered, nil},
	"no_final":              {200, echoed, nil},
	"factory_without_final": {500, unanswered, nil},
	"factory_deleted_twice": {200, echoed, []string{"noted: factory_deleted_twice: TRITONBACKEND_ResponseFactoryDelete: "}},
	"release_twice":         {200, echoed, []string{"noted: release_twice: TRITONBACKEND_RequestRelease: "}},
	"read_after_release": {200, echoed, []string{
		"noted: read_after_release: TRITONBACKEND_RequestInputCount: ", "noted: read_after_release: TRITONBACKEND_RequestId: ",
		"noted: read_after_release: TRITONBACKEND_RequestInput: ", "noted: read_after_release: TRITONBACKEND_ResponseNew: ",
		"noted: read_after_release: TRITONBACKEND_ResponseFactoryNew: ",
	}},
	"report_after_release": {200, echoed, []string{"noted: report_after_release: TRITONBACKEND_ModelInstanceReportStatistics: "}},
	"reschedule": {200, echoed, []string{
		"noted: reschedule: Request is released with TRITONSERVER_REQUEST_RELEASE_RESCHEDULE, while the model is not configured to handle such a flag.",
	}},
	"error_after_all":    {200, echoed, nil},
	"error_with_code":    {400, "an error with an unknown code", nil},
	"error_without_text": {500, "error", nil},
	"wrong_values":       {500, "error", []string{"noted: wrong_values: policy: TRITONBACKEND_BackendSetExecutionPolicy: "}},
	"null_arguments": {200, echoed, []string{
		"noted: null_arguments: TRITONBACKEND_RequestInput: ", "noted: null_arguments: TRITONBACKEND_ResponseOutput: ",
		"noted: null_arguments: TRITONBACKEND_ResponseSetStringParameter: ", "noted: null_arguments: TRITONBACKEND_RequestInputCount: ",
		"noted: null_arguments: TRITONBACKEND_ModelName: ", "out of bounds index 2147483648: request has 1 inputs",
	}},
	"other_object": {200, echoed, []string{
		"noted: other_object: TRITONBACKEND_RequestInputCount: ", "noted: other_object: TRITONBACKEND_ModelName: ", "noted: other_object: TRITONBACKEND_RequestRelease: ",
	}},
	"huge_output":    {500, "no memory for the output", []string{"noted: huge_output: buffer: "}},
	"no_buffer":      {500, "OUTPUT", nil},
	"short_buffer":   {500, "OUTPUT", nil},
	"negative_shape": {500, "OUTPUT", nil},
	"unknown_output": {200, echoed, []string{"noted: unknown_output: unexpected inference output 'NOT_OF_THE_MODEL' for model 'unknown_output'"}},
	"buffer_twice": {200, echoed, []string{
		"noted: buffer_twice: allocated buffer for output 'OUTPUT' already exists", "noted: buffer_twice: TRITONBACKEND_OutputBuffer: ",
	}},
	"config_while_serving": {200, echoed, []string{
		"noted: config_while_serving: TRITONBACKEND_ModelSetConfig", "noted: config_while_serving: TRITONBACKEND_BackendSetExecutionPolicy",
	}},
	"state_without": {200, echoed, []string{"noted: state_without: [request id: <id_unknown>] unable to add state 'STATE'. State configuration is missing for model 'state_without'."}},
	"late":          {200, echoed, nil},
}

// isolations are the flags of the two ways to run a model.
var isolations = map[string][]string{"in process": nil, "process": {"--isolation=process"}}

func TestPluginFaults(t *testing.T) {
	backends := newBackendFolder(t)
	backends.add(t, "faults", "faults.c")
	models := t.TempDir()
	for name := range pluginFaults {
		pluginModel(t, models, name, pluginConfig("faults", `parameters { key: "fault" value { string_value: "`+name+`" } }`))
	}
	for way, flags := range isolations {
		t.Run(way, func(t *testing.T) {
			s := servePlugins(t, backends, models, flags...)
			for _, name := range slices.Sorted(maps.Keys(pluginFaults)) {
				want := pluginFaults[name]
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
				status, body := s.infer(ctx, t, name, 1, 8)
				cancel()
				assert.Equal(t, want.status, status, "%s: %s", name, body)
				assert.Contains(t, body, want.body, name)
				s.requireEcho(t, name)
				for _, part := range want.noted {
					s.requireLogged(t, part)
				}
			}
			s.stop(t)
			assert.NotContains(t, s.log.String(), "panic")
		})
	}
}

// What a library cannot do in a process of its own is refused; its metrics are those of the server.
func TestPluginLimitsOfIsolation(t *testing.T) {
	backends := newBackendFolder(t)
	backends.add(t, "faults", "faults.c")
	models := t.TempDir()
	for _, name := range []string{"other_models", "none"} {
		pluginModel(t, models, name, pluginConfig("faults", `parameters { key: "fault" value { string_value: "`+name+`" } }`))
	}
	for way, flags := range isolations {
		t.Run(way, func(t *testing.T) {
			s := servePlugins(t, backends, models, flags...)
			status, body := s.infer(t.Context(), t, "other_models", 1, 8)
			if flags == nil {
				require.Equal(t, 200, status, body)
			} else {
				require.NotEqual(t, 200, status, body)
				require.Contains(t, body, "a model in a process of its own (isolation=process) cannot call other models")
			}
			s.infer(t.Context(), t, "other_models", 1, 8)
			for _, line := range []string{
				`other_models_total{where="here"} 4`, "other_models_level 3.5", "# TYPE other_models_sizes histogram",
				`other_models_sizes_bucket{le="5"} 0`, `other_models_sizes_bucket{le="10"} 2`, "other_models_sizes_sum 16",
			} {
				require.Contains(t, s.metricsText(t), line+"\n")
			}
			s.stop(t)
		})
	}
}

// metricsText returns the page of metrics.
func (s *server) metricsText(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

// A backend that keeps a request or a response for ever, which it may still answer, costs
// that request: its client leaves, other models go on, and the server ends in its time.
func TestPluginNeverAnswers(t *testing.T) {
	backends := newBackendFolder(t)
	backends.add(t, "faults", "faults.c")
	models := t.TempDir()
	kept := []string{"silent", "kept_response"}
	for _, name := range append(kept, "none") {
		pluginModel(t, models, name, pluginConfig("faults", `parameters { key: "fault" value { string_value: "`+name+`" } }`))
	}
	for way, flags := range isolations {
		t.Run(way, func(t *testing.T) {
			s := servePlugins(t, backends, models, append(flags, "--exit-timeout-secs=1")...)
			for _, name := range kept {
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
				status, body := s.infer(ctx, t, name, 1, 8)
				cancel()
				require.Zero(t, status, body)
				s.requireEcho(t, "none")
				s.requireEcho(t, name)
			}
			require.NoError(t, s.cmd.Process.Signal(os.Interrupt))
			select {
			case <-s.done:
			case <-time.After(2 * time.Minute):
				t.Fatal("the server does not end")
			}
		})
	}
}

// A thread of a backend that outlives its model gets errors.
func TestPluginThreadAfterUnload(t *testing.T) {
	backends := newBackendFolder(t)
	backends.add(t, "faults", "faults.c")
	models := t.TempDir()
	for _, name := range []string{"after_end", "none"} {
		pluginModel(t, models, name, pluginConfig("faults", `parameters { key: "fault" value { string_value: "`+name+`" } }`))
	}
	s := servePlugins(t, backends, models, "--model-control-mode=explicit", "--load-model=*")
	status, body := s.infer(t.Context(), t, "after_end", 1, 8)
	require.Equal(t, 200, status, body)
	status, body = s.ask(t.Context(), t, "/v2/repository/models/after_end/unload", "{}")
	require.Equal(t, 200, status, body)
	for _, f := range []string{"ModelInstanceName", "ModelName", "ModelState", "RequestInputCount", "ModelInstanceReportBatchStatistics"} {
		s.requireLogged(t, "noted: after_end: TRITONBACKEND_"+f+": ")
	}
	s.requireEcho(t, "none")
	s.stop(t)
}

// crashes are the deaths of a process and what the client of the request reads of each.
var crashes = map[string]string{
	"segfault":      "SIGSEGV",
	"abort":         "SIGABRT",
	"exit":          "code 3",
	"exit_handlers": "code 4",
	"kill":          "signal 9",
	"divide":        "SIGFPE",
	"overflow":      "",
	"double_free":   "",
	"endless":       "isolation_execute_limit_milliseconds",
	"throws":        "SIGABRT",
}

// In a process of its own only the model of a backend that ends it suffers, and comes back.
func TestPluginCrashes(t *testing.T) {
	backends := newBackendFolder(t)
	backends.add(t, "crashes", "crashes.c")
	backends.add(t, "throws", "throws.cc")
	models := t.TempDir()
	for name := range crashes {
		library, more := "crashes", `parameters { key: "fault" value { string_value: "`+name+`" } }`
		switch name {
		case "throws":
			library = name
		case "endless":
			more += `parameters { key: "isolation_execute_limit_milliseconds" value { string_value: "500" } }`
		}
		pluginModel(t, models, name, pluginConfig(library, more))
	}
	pluginModel(t, models, "bystander", pluginConfig("crashes", ""))
	s := servePlugins(t, backends, models, "--isolation=process")
	for _, name := range slices.Sorted(maps.Keys(crashes)) {
		status, body := s.infer(t.Context(), t, name, 1, 8)
		assert.Equal(t, http.StatusServiceUnavailable, status, "%s: %s", name, body)
		assert.Contains(t, body, crashes[name], name)
		s.requireEcho(t, "bystander")
	}
	for name := range crashes {
		if name != "throws" { // which knows nothing else
			s.requireEcho(t, name)
		}
	}
	s.requireLogged(t, "bystander")
	s.stop(t)
}

// refusals are backends that cannot serve a model, and the reasons that a load gives.
var refusals = map[string]struct{ macro, reason, logged string }{
	"without_execute": {"WITHOUT_EXECUTE", "unable to find required entrypoint 'TRITONBACKEND_ModelInstanceExecute' in shared library", ""},
	"undefined":       {"UNDEFINED", "TRITONBACKEND_ComesInALaterRelease", ""},
	"newer":           {"NEWER", "triton backend API version does not support this backend", ""},
	"unwilling":       {"UNWILLING", "this model does not suit the backend", "noted: finalized"},
	"false_config":    {"FALSE_CONFIG", "input", ""},
	"lame_instance":   {"LAME_INSTANCE", "no device is left for this instance", "noted: finalized"},
}

func TestPluginRefused(t *testing.T) {
	backends := newBackendFolder(t)
	models := t.TempDir()
	for name, r := range refusals {
		backends.add(t, name, "refused.c", "-D"+r.macro)
		pluginModel(t, models, name, pluginConfig(name, ""))
	}
	backends.add(t, "dies", "refused.c", "-DDIES_AT_LOAD")
	pluginModel(t, models, "dies", pluginConfig("dies", ""))
	backends.add(t, "faults", "faults.c")
	pluginModel(t, models, "bystander", pluginConfig("faults", ""))
	for name, content := range map[string]string{"text": "this is no library\n", "cut": "\x7fELF\x02\x01\x01"} {
		require.NoError(t, os.MkdirAll(filepath.Join(backends.dir, name), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(backends.dir, name, "libtriton_"+name+".so"), []byte(content), 0o644))
		pluginModel(t, models, name, pluginConfig(name, ""))
	}
	for way, flags := range isolations {
		t.Run(way, func(t *testing.T) {
			s := servePlugins(t, backends, models, append(flags, "--model-control-mode=explicit", "--load-model=bystander")...)
			load := func(name string) string {
				status, body := s.ask(t.Context(), t, "/v2/repository/models/"+name+"/load", "{}")
				assert.Equal(t, 400, status, "%s: %s", name, body)
				return body
			}
			for _, name := range slices.Sorted(maps.Keys(refusals)) {
				r := refusals[name]
				assert.Contains(t, load(name), r.reason, name)
				s.requireLogged(t, r.logged)
			}
			for _, name := range []string{"text", "cut"} {
				assert.Contains(t, load(name), "libtriton_"+name+".so", name)
			}
			if flags != nil {
				load("dies")
			}
			s.requireEcho(t, "bystander")
			s.stop(t)
		})
	}
}
