package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdvice: a path that is not the repository is recognized by what is in it.
func TestAdvice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, file := range []string{
		"top/models/a/config.pbtxt", "top/models/a/1/model.py", "top/docs/text", "bare/m/2/model.onnx", "plain/x/y/z", "noconfig/m/1/weights",
		"numbers/1/config.pbtxt", "numbers/2/1/model.py",
	} {
		path := filepath.Join(dir, filepath.FromSlash(file))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "empty"), 0o755))
	in := func(elements ...string) string { return filepath.Join(append([]string{dir}, elements...)...) }
	for path, want := range map[string]string{
		in("top", "models"):           "",
		in("bare"):                    "",
		in("noconfig"):                "",
		in("plain"):                   "",
		in("numbers"):                 "", // models named by numbers
		in("top", "models", "a"):      "is a model, not a folder of models: give its parent " + in("top", "models"),
		in("bare", "m"):               "is a model, not a folder of models: give its parent " + in("bare"),
		in("top", "models", "a", "1"): "is a version of the model a: give the folder with the models, " + in("top", "models"),
		in("top"):                     "and those in models are: give the folder " + in("top", "models"),
		in("empty"):                   "is empty: each folder in it is a model, and it has none",
		in("top", "docs"):             "is empty: ",
		in("absent"):                  "is empty: ", // the start has refused it
	} {
		got := NewPaths([]string{path}, false, OpenDir).Advice()
		if want == "" {
			require.Empty(t, got, path)
			continue
		}
		require.Len(t, got, 1, path)
		require.Contains(t, got[0], want)
	}
	require.Len(t, NewPaths([]string{in("top"), in("empty"), in("bare")}, false, OpenDir).Advice(), 2)
}

// TestAdviceAboutFolders names the folders beside models that are none.
func TestAdviceAboutFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, folder := range []string{"m/1", ".git/1", ".example-123/x", "lost+found", "__pycache__", "docs"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, folder), 0o755))
	}
	p := NewPaths([]string{dir}, false, OpenDir)
	require.Equal(t, []string{
		"folders of the model repository " + dir + " that are not models are passed over: .example-123, .git, __pycache__, lost+found",
		"docs is not a model, as it has neither a config.pbtxt nor a version folder: move it out of the model repository " + dir,
	}, p.Advice())
	models, err := p.List(t.Context())
	require.NoError(t, err)
	var names []string
	for _, m := range models {
		names = append(names, m.ID.Name)
	}
	require.Equal(t, []string{"docs", "m"}, names)
	require.NoError(t, os.Rename(filepath.Join(dir, "m"), filepath.Join(dir, ".m")))
	require.Contains(t, NewPaths([]string{dir}, false, OpenDir).Advice()[0], ".m")
	require.NoError(t, p.Register(t.Context(), filepath.Join(dir, ".m"), map[string]string{".hidden": "h"}), "a name that is given counts")
}
