package python

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The modules exist as long as there are models. The next server removes those of a server
// that was killed, and nothing else.
func TestModules(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	killed := filepath.Join(tmp, modulesPrefix+"1")
	others := []string{filepath.Join(tmp, "triton_python_0"), filepath.Join(tmp, "else")}
	for _, dir := range append(others, filepath.Join(killed, "pytorch_backend")) {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	var first, second modules
	a, err := first.acquire()
	require.NoError(t, err)
	again, err := first.acquire()
	require.NoError(t, err)
	require.Equal(t, a, again)
	require.NoDirExists(t, killed)
	b, err := second.acquire()
	require.NoError(t, err)
	require.NotEqual(t, a, b)
	require.NoError(t, second.release())
	require.NoDirExists(t, b)
	require.NoError(t, first.release())
	require.FileExists(t, filepath.Join(a, "runner.py"))
	require.FileExists(t, filepath.Join(a, "pytorch_backend", "model.py"))
	require.NoError(t, first.release())
	all, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.ElementsMatch(t, others, all)

	t.Setenv("TMPDIR", filepath.Join(tmp, "none"))
	_, err = first.acquire()
	require.ErrorIs(t, err, os.ErrNotExist)
	t.Setenv("TMPDIR", tmp)
	_, err = first.acquire()
	require.NoError(t, err)
	require.NoError(t, first.release())
}
