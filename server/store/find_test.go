package store

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLookup: a look-up finds what a listing has, for every name that could be mistaken for a model.
func TestLookup(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	one, two, third := filepath.Join(base, "1"), filepath.Join(base, "2"), filepath.Join(base, "3")
	for _, d := range []string{"1/a/1", "1/b", "1/.hidden", "2/a", "2/c", "2/with space", "3/x", "3/y", "3/z", "3/b", "outside"} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, d), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(one, "file"), nil, 0o644))
	for link, to := range map[string]string{"1/link": "../outside", "1/lost": "nowhere", "1/tofile": "file", "1/self": "self"} {
		require.NoError(t, os.Symlink(to, filepath.Join(base, link)))
	}
	asked := []string{
		"a", "b", "c", "x", "y", "z", "A", "file", "link", "lost", "tofile", "self", ".hidden", "with space", "renamed", "unknown",
		"", ".", "..", "a/1", "../outside", "./a", "a/", base, "nul\x00", strings.Repeat("long", 100),
	}
	for _, namespaces := range []bool{false, true} {
		p := NewPaths([]string{two, one}, namespaces, OpenDir)
		// z has the name of b, so the folder b has none; x and y are one name twice.
		require.NoError(t, p.Register(t.Context(), third, map[string]string{"z": "b", "x": "renamed", "y": "renamed"}))
		find := p.Lookup()
		require.NotNil(t, find)
		all, err := p.List(t.Context())
		require.NoError(t, err)
		found := 0
		for _, name := range asked {
			want := slices.DeleteFunc(slices.Clone(all), func(m Model) bool { return m.ID.Name != name })
			got, err := find(name)
			require.NoError(t, err, name)
			require.ElementsMatch(t, want, got, name)
			require.True(t, slices.IsSortedFunc(got, func(a, b Model) int { return Compare(a.ID, b.ID) }), name)
			found += len(got)
		}
		require.Equal(t, len(all), found, "every model was asked for")
	}
}

// TestNoLookup: without all paths at hand a listing says what is wrong.
func TestNoLookup(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.Nil(t, NewPaths([]string{dir, filepath.Join(dir, "gone")}, false, OpenDir).Lookup())
	require.Nil(t, NewPaths([]string{file}, false, OpenDir).Lookup())
	far := NewPaths([]string{dir}, false, func(string) (Place, error) { return elsewhere{}, nil })
	require.Nil(t, far.Lookup(), "a place that is not of this machine")
	require.NotNil(t, NewPaths([]string{dir}, false, OpenDir).Lookup())
}

// elsewhere is a place that is not a directory of this machine.
type elsewhere struct{ Place }
