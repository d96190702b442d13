package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzWriteFile: no name of a file leads out of the model's directory.
func FuzzWriteFile(f *testing.F) {
	for _, name := range []string{
		"file:1/model.onnx", "file:../x", "file:1/../../x", "file:/etc/passwd", "file:", "file:.", "file:..", "file:a/./b//c",
		"file:\x00", `file:..\x`, "file:1/..", "x",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		outer := t.TempDir()
		dir := filepath.Join(outer, "model")
		require.NoError(t, os.Mkdir(dir, 0o700))
		err := writeFile(dir, name, []byte("x"))
		others, readErr := os.ReadDir(outer)
		require.NoError(t, readErr)
		require.Len(t, others, 1)
		info, readErr := os.Stat(dir)
		require.NoError(t, readErr)
		require.True(t, info.IsDir())
		if err != nil {
			return
		}
		inside, readErr := os.ReadDir(dir)
		require.NoError(t, readErr)
		require.NotEmpty(t, inside)
	})
}

func TestScratch(t *testing.T) {
	t.Parallel()
	var s Scratch
	one, err := s.Write(map[string][]byte{"file:1/a": []byte("A"), "file:b": []byte("B")})
	require.NoError(t, err)
	two, err := s.Write(map[string][]byte{"file:c": []byte("C")})
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(one.Dir, "1", "a"))
	require.NoError(t, err)
	require.Equal(t, "A", string(text))
	info, err := os.Stat(s.base)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "only the owner has access")
	one.Hold()
	one.Release()
	require.DirExists(t, one.Dir)
	one.Release()
	require.NoDirExists(t, one.Dir)
	require.DirExists(t, two.Dir)
	base := s.base
	require.NoError(t, s.Remove())
	require.NoDirExists(t, base)
	require.NoError(t, s.Remove())
}
