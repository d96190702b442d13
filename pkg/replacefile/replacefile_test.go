package replacefile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/replacefile"
)

func TestReplace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	check := func(want string) {
		t.Helper()
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1, "no temporary file is left")
	}
	require.NoError(t, replacefile.Text(path, 0o640, []byte("old")))
	check("old")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm())

	full := errors.New("disk full")
	err = replacefile.Write(path, 0o600, func(f *os.File) error {
		_, err := f.WriteString("half")
		return errors.Join(err, full)
	})
	require.ErrorIs(t, err, full)
	check("old")

	require.NoError(t, replacefile.Text(path, 0o600, []byte("new")))
	check("new")
	require.Error(t, replacefile.Text(filepath.Join(dir, "none", "f"), 0o600, nil), "the folder does not exist")
}
