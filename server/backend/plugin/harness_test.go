//go:build cgo && linux

package plugin_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/capi"
	"triton/server/capi/capitest"
	"triton/server/servertest"
)

// build compiles a file of testdata to the library of a backend in a new backend directory.
func build(t testing.TB, source, backend string, flags ...string) (directory string) {
	t.Helper()
	directory = t.TempDir()
	compile(t, source, filepath.Join(directory, backend, "libtriton_"+backend+".so"), flags...)
	return directory
}

func compile(t testing.TB, source, path string, flags ...string) {
	t.Helper()
	capitest.Compile(t, "../../capi/include", filepath.Join("testdata", source), path, flags...)
}

// lines is a log that tests look into.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func (l *lines) at(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Index(l.text.String(), text)
}

// served is a server with models of the test's backend.
type served struct {
	*servertest.Server
	log *lines
}

// serve starts a server whose models have the given configurations beside their backend.
func serve(t testing.TB, models map[string]string, change ...func(*server.Options)) served {
	t.Helper()
	s, err := try(t, models, change...)
	require.NoError(t, err, s.log.text.String())
	return s
}

func try(t testing.TB, models map[string]string, change ...func(*server.Options)) (served, error) {
	t.Helper()
	s := served{log: &lines{}}
	directory := build(t, "backend.c", "scripted")
	logger := slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	capi.SetLog(logger, nil)
	opts := []servertest.Option{servertest.With(func(o *server.Options) {
		o.BackendDirectory, o.Log = directory, logger
		for _, c := range change {
			c(o)
		}
	})}
	for name, config := range models {
		if !strings.Contains(config, "backend:") {
			config += "\nbackend: \"scripted\"\n"
		}
		opts = append(opts, servertest.Model(name, config))
	}
	var err error
	s.Server, err = servertest.Try(t, opts...)
	return s, err
}

// echo is a configuration for IN and OUT.
func echo(mode, more string) string {
	return fmt.Sprintf(`max_batch_size: 8
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
parameters { key: "mode" value { string_value: %q } }
%s`, mode, more)
}

type reply struct {
	Error      string
	ID         string
	Parameters map[string]any
	Outputs    []struct {
		Name  string
		Shape []int
		Data  []int
	}
}

// infer sends IN and returns the reply.
func (s served) infer(t testing.TB, model string, in ...int) reply {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"id": "a request", "parameters": map[string]any{"custom": 1},
		"inputs": []any{map[string]any{"name": "IN", "datatype": "INT32", "shape": []int{1, len(in)}, "data": in}},
	})
	require.NoError(t, err)
	return s.post(t, "/v2/models/"+model+"/infer", body)
}

// metrics returns the server's metrics.
func (s served) metrics(t testing.TB) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Metrics+"/metrics", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

func (s served) post(t testing.TB, path string, body []byte) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.HTTP+path, bytes.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var r reply
	if len(text) > 0 {
		require.NoError(t, json.Unmarshal(text, &r), string(text))
	}
	return r
}

// out returns OUT.
func (r reply) out(t testing.TB) []int {
	t.Helper()
	require.Empty(t, r.Error)
	require.Len(t, r.Outputs, 1)
	require.Equal(t, "OUT", r.Outputs[0].Name)
	return r.Outputs[0].Data
}

func writeModel(t testing.TB, root, name, config string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(root, name, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, name, "config.pbtxt"), []byte(config), 0o600))
}
