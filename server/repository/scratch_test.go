package repository

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
		beside, readErr := os.ReadDir(outer)
		require.NoError(t, readErr)
		require.Len(t, beside, 1)
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
	var s scratchSpace
	one, err := s.write(map[string][]byte{"file:1/a": []byte("A"), "file:b": []byte("B")})
	require.NoError(t, err)
	two, err := s.write(map[string][]byte{"file:c": []byte("C")})
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(one.dir, "1", "a"))
	require.NoError(t, err)
	require.Equal(t, "A", string(text))
	info, err := os.Stat(s.base)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "nobody else may look")
	one.hold()
	one.release()
	require.DirExists(t, one.dir)
	one.release()
	require.NoDirExists(t, one.dir)
	require.DirExists(t, two.dir)
	base := s.base
	require.NoError(t, s.remove())
	require.NoDirExists(t, base)
	require.NoError(t, s.remove())
}
