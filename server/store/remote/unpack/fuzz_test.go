package unpack_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/store/remote/unpack"
)

// FuzzArchive: whatever an archive holds, the names of its files stay below the root and do not
// contradict each other, and the limits hold.
func FuzzArchive(f *testing.F) {
	entries := []entry{{name: "m/1/x", text: "x"}, {name: "m/2", link: "1", kind: tar.TypeSymlink}, {name: "m/y", link: "m/1/x", kind: tar.TypeLink}}
	f.Add(tarred(f, entries...), false)
	f.Add(gzipped(f, tarred(f, entries...)), false)
	f.Add(zstandard(f, tarred(f, entries...)), false)
	f.Add(zipped(f, entries[:2]...), false)
	f.Add(tarred(f, entry{name: "m/.wh.1"}, entry{name: "m/1/.wh..wh..opq"}, entry{name: "/m/9", link: "/m", kind: tar.TypeSymlink}), true)
	sparse, err := os.ReadFile("testdata/sparse.tar")
	require.NoError(f, err)
	f.Add(sparse, false)
	path := filepath.Join(f.TempDir(), "archive")
	f.Fuzz(func(t *testing.T, archive []byte, image bool) {
		require.NoError(t, os.WriteFile(path, archive, 0o600))
		k := kept{}
		tree, err := unpack.New("", small, k.keep)
		require.NoError(t, err)
		if image {
			require.NoError(t, tree.Layer(t.Context(), saved(t, tarred(t, entries...))))
			err = tree.Layer(t.Context(), path)
		} else {
			err = tree.Archive(t.Context(), path)
		}
		var size int
		for _, text := range k {
			size += len(text)
		}
		require.LessOrEqual(t, size, int(small.Bytes)+(256<<10))
		if err != nil {
			require.ErrorIs(t, err, unpack.ErrRefused)
			return
		}
		files, err := tree.Files()
		if err != nil {
			require.ErrorIs(t, err, unpack.ErrRefused)
			return
		}
		require.LessOrEqual(t, len(files), small.Entries)
		folders, names := map[string]bool{}, map[string]bool{}
		for _, file := range files {
			name := strings.TrimSuffix(file.Name, "/")
			require.True(t, filepath.IsLocal(name), name)
			require.False(t, names[name], "%q is there twice", name)
			names[name] = true
			for dir, _, ok := cutLast(name); ok; dir, _, ok = cutLast(dir) {
				folders[dir] = true
			}
		}
		for name := range folders {
			require.False(t, names[name], "%q is a file and a folder", name)
		}
	})
}

func cutLast(name string) (dir, base string, ok bool) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}
