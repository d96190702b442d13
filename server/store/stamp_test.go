package store

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestIsPartial(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"model.onnx.part", "model.onnx.tmp", "MODEL.PARTIAL", "3.tmp", "x.crdownload", ".~lock.model.onnx#", ".model.onnx.Ab12Cd",
		".model.onnx.abcde1", "model_.gstmp", "a.incomplete", ".rsync-partial",
	} {
		require.True(t, IsPartial(name), name)
	}
	for _, name := range []string{
		"model.onnx", "3", "_SUCCESS", ".part", "part", "config.pbtxt", ".config.backup", ".gitignore", "model.tmp.onnx", "model.onnx.Ab12Cd",
		"config.pbtxt~", ".model.py.swp", "",
	} {
		require.False(t, IsPartial(name), name)
	}
}

// The stamp tells the newest file and a partial one of each version. Partial names beside the
// versions are left out of it.
func TestStampTellsWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name string) {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	write("config.pbtxt")
	write("1/model.onnx")
	write("1/data/weights")
	write("3.tmp/model.onnx")
	write(".config.pbtxt.Ab12Cd")
	later := time.Now().Add(time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "1/data/weights"), later, later))
	s := ReadStamp(dir)
	require.Len(t, s, 3)
	require.Equal(t, "data/weights", s["1"].Newest)
	require.Equal(t, later.UnixNano(), s["1"].ChangedAt)
	require.Empty(t, s["1"].Partial)
	require.Empty(t, s["config.pbtxt"].Newest)
	write("1/data/more.part")
	require.Equal(t, "data/more.part", ReadStamp(dir)["1"].Partial)
	require.Nil(t, ReadStamp(filepath.Join(dir, "none")))
}

// Links in circles, special files, and folders that cannot be read neither stop nor fail the stamp.
func TestStampOfOddFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := filepath.Join(dir, "1")
	require.NoError(t, os.MkdirAll(filepath.Join(one, "deep"), 0o755))
	for _, name := range []string{"a", "b", "c", "d"} { // to follow them all would be 4 to the power of 16 folders
		require.NoError(t, os.Symlink(dir, filepath.Join(one, name)))
		require.NoError(t, os.Symlink("..", filepath.Join(one, "deep", name)))
	}
	require.NoError(t, os.Symlink("self", filepath.Join(dir, "self")))
	require.NoError(t, syscall.Mkfifo(filepath.Join(one, "model.onnx"), 0o600))
	shut := filepath.Join(dir, "2")
	require.NoError(t, os.Mkdir(shut, 0o000))
	s := ReadStamp(dir)
	require.Contains(t, s, "1")
	require.Contains(t, s, "2")
	require.True(t, s["2"].Dir)
	require.Zero(t, s["self"].ChangedAt)
	require.True(t, s.Same(ReadStamp(dir)))
	require.False(t, strings.Contains(s["1"].Newest, ".."))
}
