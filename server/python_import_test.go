package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A model whose process ends and whose model.py cannot be imported any more is not ready,
// and the index says why, until the import works again.
func TestPythonImportFailsAgain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: starts Python processes")
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	writePython(t, dir, "m", "", fmt.Sprintf("import os\nif os.path.exists(%q): raise ImportError('not now')\n", broken)+`
class TritonPythonModel:
    def execute(self, requests):
        os._exit(3)
`)
	s := startPython(t, dir)
	c := newClient(t)
	ask := func() (int, string) {
		code, text, err := post(c, "http://"+s.HTTP+"/v2/models/m/infer", `{"inputs":[{"name":"IN","datatype":"FP32","shape":[1,1],"data":[1]}]}`)
		require.NoError(t, err)
		return code, text
	}
	ready := func() bool {
		code, _ := get(t, c, "http://"+s.HTTP+"/v2/models/m/ready")
		return code == http.StatusOK
	}
	require.True(t, ready())
	require.NoError(t, os.WriteFile(broken, nil, 0o600))
	code, text := ask()
	require.Equal(t, http.StatusInternalServerError, code)
	require.Contains(t, text, "Stub process 'm_0' is not healthy. The cause: the process exited with code 3")
	require.Eventually(t, func() bool { return !ready() }, time.Minute, 5*time.Millisecond)
	require.Eventually(t, func() bool {
		_, text, err := post(c, "http://"+s.HTTP+"/v2/repository/index", "{}")
		return err == nil && strings.Contains(text, "ImportError: not now")
	}, time.Minute, 5*time.Millisecond)
	require.False(t, ready())
	code, text = ask()
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Contains(t, text, "has no working instance left")
	require.NoError(t, os.Remove(broken))
	require.Eventually(t, ready, time.Minute, 5*time.Millisecond)
}
