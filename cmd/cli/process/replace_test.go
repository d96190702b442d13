package process

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplaceFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.pbtxt")
	require.NoError(t, os.WriteFile(file, []byte("before"), 0o640))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("config.pbtxt", link))
	open, err := os.Open(file) // a reader that has the former content open keeps it
	require.NoError(t, err)
	defer open.Close()

	require.NoError(t, ReplaceFile(link, []byte("after")))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "after", string(text))
	former := make([]byte, 16)
	n, err := open.Read(former)
	require.NoError(t, err)
	require.Equal(t, "before", string(former[:n]))
	info, err := os.Lstat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode())
	info, err = os.Lstat(link)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2, "nothing is left over")

	require.ErrorIs(t, ReplaceFile(filepath.Join(dir, "none"), nil), os.ErrNotExist)
	require.Error(t, ReplaceFile(dir, nil))
	if os.Getuid() == 0 {
		require.NoError(t, os.Chown(file, 1234, 1234))
		require.NoError(t, ReplaceFile(file, []byte("again")))
		info, err = os.Stat(file)
		require.NoError(t, err)
		require.EqualValues(t, 1234, reflect.ValueOf(info.Sys()).Elem().FieldByName("Uid").Uint(), "the owner stays")
		return
	}
	require.NoError(t, os.Chmod(file, 0o400))
	require.ErrorIs(t, ReplaceFile(file, nil), os.ErrPermission)
}
