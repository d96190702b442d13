package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckWritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "old")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o600))
	for _, name := range []string{file, filepath.Join(dir, "new"), os.DevNull} {
		require.NoError(t, CheckWritable(name))
	}
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing is created")
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "kept", string(text))

	require.EqualError(t, CheckWritable(dir), "cannot write "+dir+": it is a folder")
	require.ErrorContains(t, CheckWritable(filepath.Join(dir, "no", "x")), "no such file or directory")
	require.ErrorContains(t, CheckWritable(filepath.Join(file, "x")), "cannot write "+filepath.Join(file, "x"))
	if os.Getuid() == 0 {
		t.Log("root may write everywhere: protected files are not tested")
		return
	}
	require.NoError(t, os.Chmod(file, 0o400))
	require.ErrorContains(t, CheckWritable(file), "cannot write "+file+": permission denied")
	require.NoError(t, os.Chmod(dir, 0o500))
	require.ErrorContains(t, CheckWritable(filepath.Join(dir, "x")), "permission denied")
	require.NoError(t, os.Chmod(dir, 0o700))
}
