package sharedlib_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedlib"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"all/mine/lib.so", "all/lib.so", "lib.so", "mine/lib.so"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	t.Chdir(dir)
	path, found := sharedlib.Find(filepath.Join(dir, "all"), "mine", "lib.so")
	require.True(t, found)
	require.Equal(t, filepath.Join(dir, "all", "mine", "lib.so"), path)
	for _, at := range [][2]string{{"all", ""}, {"all", "."}, {"all", ".."}, {"all", "../mine"}, {"all", "none"}, {"", "mine"}} {
		_, found := sharedlib.Find(at[0], at[1], "lib.so")
		require.False(t, found, at)
	}
}
