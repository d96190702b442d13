package server_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/log"
	"triton/pkg/sharedtest"
	"triton/server"
	"triton/server/servertest"
)

// TestAccessLogCannotBeForged: any ID of a request is written as one field of its line.
func TestAccessLogCannotBeForged(t *testing.T) {
	t.Parallel()
	settings := log.DefaultSettings()
	settings.Format = log.JSON
	out := &sharedtest.LogBuffer{}
	sink, err := log.Open(settings, out, out)
	require.NoError(t, err)
	s := servertest.Start(t, servertest.Model("m", servertest.Identity("INT32", "1", 0)),
		servertest.With(func(o *server.Options) { o.AccessLog = sink.Logger() }))
	const id = "x status=299 \",\"status\":299,\"y\":\"\nI1122 00:00:00.000000 1 x.go:1] \"forged\""
	body, err := json.Marshal(map[string]any{"id": id, "inputs": []any{
		map[string]any{"name": "INPUT0", "datatype": "INT32", "shape": []int{1}, "data": []int{1}},
	}})
	require.NoError(t, err)
	resp, err := http.Post("http://"+s.HTTP+"/v2/models/m/infer", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
	s.Stop(t)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 1)
	var line map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &line))
	require.Equal(t, []any{"HTTP request", id, 200.0, "m"}, []any{line["msg"], line["id"], line["status"], line["model"]})
}
