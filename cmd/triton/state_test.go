package main_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// identityModels writes models that return their input.
func identityModels(t *testing.T, names ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "models")
	for _, name := range names {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, name, "1"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name, "config.pbtxt"), []byte(`backend: "identity" max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 2 ] } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 2 ] }`), 0o600))
	}
	return dir
}

// TestStateSurvivesRestarts: what clients load is in the state, so that the next process serves the
// same.
func TestStateSurvivesRestarts(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	models, state := identityModels(t, "a", "b"), filepath.Join(t.TempDir(), "state.json")
	require.NoError(t, os.WriteFile(state, []byte(`{"models":{"a":{}}}`), 0o600))
	serve := func() *server {
		return start(t, exec.Command(tritonBinary(t), "serve", "--model-repository", models, "--state", state, "--state-write=true"))
	}
	s := serve()
	resp, err := http.Post("http://"+s.http+"/v2/repository/models/b/load", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	s.stop(t)
	s = serve()
	for _, m := range []string{"a", "b"} {
		resp, err := http.Get("http://" + s.http + "/v2/models/" + m + "/ready")
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, http.StatusOK, resp.StatusCode, m)
	}
	s.stop(t)
}

// TestSecondSignalShortensTheDelay: during the drain delay the server serves without being ready;
// a second signal ends the delay, and the process ends with code 0.
func TestSecondSignalShortensTheDelay(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	s := start(t, exec.Command(tritonBinary(t), "serve", "--model-repository", identityModels(t, "a"), "--drain-delay=1h"))
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGTERM))
	s.requireLogged(t, "not ready any more")
	resp, err := http.Get("http://" + s.http + "/v2/health/ready")
	require.NoError(t, err)
	resp.Body.Close()
	require.Equal(t, http.StatusBadRequest, resp.StatusCode)
	resp, err = http.Post("http://"+s.http+"/v2/models/a/infer", "application/json",
		strings.NewReader(`{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[1,2],"data":[1,2]}]}`))
	require.NoError(t, err)
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(text))
	<-time.After(1500 * time.Millisecond) // signals within a second after the first count as one
	s.stop(t)
}
