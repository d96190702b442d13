package server_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/sharedtest"
	"triton/server"
	"triton/server/servertest"
)

// TestVerboseLog: with --log-verbose=1 requests and failures are logged in Triton's words, and every
// line of the default format can be read by programs for Triton's log: after the place one JSON
// string, or nothing before a table.
func TestVerboseLog(t *testing.T) {
	t.Parallel()
	var out sharedtest.LogBuffer
	settings := log.DefaultSettings()
	settings.Verbose = 1
	sink, err := log.Open(settings, &out, &out)
	require.NoError(t, err)
	s := servertest.Start(t, servertest.Model("ident", servertest.Identity("INT32", "4", 8)),
		servertest.With(func(o *server.Options) { o.Log, o.Logs, o.Metrics.GPU = sink.Logger(), sink, false }))
	c := newClient(t)
	for _, request := range []struct{ path, body string }{
		{"/v2/models/ident/infer", body},
		{"/v2/models/ident/infer", `{"id":"q","inputs":[{"name":"BAD","shape":[1,4],"datatype":"INT32","data":[1,2,3,4]}]}`},
		{"/v2/models/none/generate", `{}`},
		{"/nowhere", ""},
	} {
		_, _, err := post(c, "http://"+s.HTTP+request.path, request.body)
		require.NoError(t, err)
	}
	g := dial(t, s.GRPC)
	_, err = g.ServerLive(t.Context(), &inferencepb.ServerLiveRequest{})
	require.NoError(t, err)
	_, err = g.ModelInfer(t.Context(), &inferencepb.ModelInferRequest{ModelName: "none", Id: "g"})
	require.Error(t, err)
	var messages []string
	line := regexp.MustCompile(`^[EWI]\d{4} \d{2}:\d{2}:\d{2}\.\d{6} \d+ [\w.]+:\d+\] (.*)$`)
	table := regexp.MustCompile(`^(\+[-+]+\+|\| .* \|)?$`)
	for text := range strings.Lines(out.String()) {
		text = strings.TrimSuffix(text, "\n")
		found := line.FindStringSubmatch(text)
		if found == nil {
			require.Regexp(t, table, text)
			continue
		}
		var message string
		if found[1] != "" {
			require.NoError(t, json.Unmarshal([]byte(found[1]), &message), text)
		}
		messages = append(messages, message)
	}
	for _, want := range []string{
		"Adding default backend config setting: default-max-batch-size,4",
		"HTTP request: 2 /v2/models/ident/infer",
		"[request id: q] Infer failed: unexpected inference input 'BAD' for model 'ident'",
		"HTTP request: 2 /v2/models/none/generate",
		"[request id: <id_unknown>] Infer failed: Request for unknown model: 'none' is not found",
		"HTTP request: 2 /nowhere", "HTTP error: 2 /nowhere - 404",
		"GRPC request: ServerLive", "GRPC request: ModelInfer",
		"[request id: g] Infer failed: Request for unknown model: 'none' is not found",
	} {
		require.Contains(t, messages, want)
	}
}
