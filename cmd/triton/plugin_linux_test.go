//go:build cgo

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The C backends of testdata/plugin are compiled when the tests run, against the headers of
// this server. NVIDIA's server loads the same files.

// backendFolder is what --backend-directory names.
type backendFolder struct{ dir string }

func newBackendFolder(t *testing.T) *backendFolder {
	t.Helper()
	return &backendFolder{dir: t.TempDir()}
}

// add compiles a source to the library of a backend. A C++ source needs a C++ compiler.
func (b *backendFolder) add(t *testing.T, name, source string, flags ...string) {
	t.Helper()
	compiler := "cc"
	if filepath.Ext(source) == ".cc" {
		compiler = "c++"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("needs %s", compiler)
	}
	to := filepath.Join(b.dir, name)
	require.NoError(t, os.MkdirAll(to, 0o755))
	args := append([]string{
		"-shared", "-fPIC", "-O1", "-w", "-I", root(t, "server", "capi", "include"),
		"-o", filepath.Join(to, "libtriton_"+name+".so"), filepath.Join("testdata", "plugin", source), "-lpthread",
	}, flags...)
	out, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// pluginConfig is a model of a backend with an input INPUT and an output OUTPUT of numbers.
func pluginConfig(backend, more string) string {
	return fmt.Sprintf(`backend: %q
input [{ name: "INPUT" data_type: TYPE_INT32 dims: [ -1 ] }]
output [{ name: "OUTPUT" data_type: TYPE_INT32 dims: [ -1 ] }]
%s
`, backend, more)
}

// pluginModel writes a model without files.
func pluginModel(t *testing.T, models, name, config string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(models, name, "1"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(models, name, "config.pbtxt"), []byte(config), 0o644))
}

// servePlugins starts our server with a folder of backends.
func servePlugins(t *testing.T, b *backendFolder, models string, flags ...string) *server {
	t.Helper()
	return serve(t, models, append([]string{"--backend-directory", b.dir}, flags...)...)
}

// infer sends the numbers to a model and returns the status and the body.
func (s *server) infer(ctx context.Context, t *testing.T, model string, numbers ...int32) (int, string) {
	t.Helper()
	data, err := json.Marshal(numbers)
	require.NoError(t, err)
	body := fmt.Sprintf(`{"inputs":[{"name":"INPUT","datatype":"INT32","shape":[%d],"data":%s}]}`, len(numbers), data)
	return s.ask(ctx, t, "/v2/models/"+model+"/infer", body)
}

// ask posts a body. A status of 0 means that no answer came in time.
func (s *server) ask(ctx context.Context, t *testing.T, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.http+path, bytes.NewReader([]byte(body)))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil && ctx.Err() != nil {
		return 0, ""
	}
	require.NoError(t, err, "the server is gone")
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// requireEcho expects that a model answers with what it got, within a minute: its process may
// have to start again.
func (s *server) requireEcho(t *testing.T, model string) {
	t.Helper()
	want := fmt.Sprintf(`{"model_name":%q,"model_version":"1","outputs":[{"name":"OUTPUT","datatype":"INT32","shape":[3],"data":[0,5,7]}]}`, model)
	var got string
	require.Eventually(t, func() bool {
		_, got = s.infer(t.Context(), t, model, 0, 5, 7)
		return got == want
	}, time.Minute, 20*time.Millisecond, "%s does not serve", model)
}
