package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAdvice: a path that is not the repository is recognised by what is in it.
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
		in("top", "models", "a"):      "is the folder of one model: give its parent " + in("top", "models"),
		in("bare", "m"):               "is the folder of one model: give its parent " + in("bare"),
		in("top", "models", "a", "1"): "is a version of the model a: give the folder with the models, " + in("top", "models"),
		in("top"):                     "and those in models are: give the folder " + in("top", "models"),
		in("empty"):                   "is empty: each folder in it is a model, and it has none",
		in("top", "docs"):             "is empty: ",
		in("absent"):                  "is empty: ", // the start has refused it
	} {
		got := NewLocal([]string{path}, false).Advice()
		if want == "" {
			require.Empty(t, got, path)
			continue
		}
		require.Len(t, got, 1, path)
		require.Contains(t, got[0], want)
	}
	require.Len(t, NewLocal([]string{in("top"), in("empty"), in("bare")}, false).Advice(), 2)
}
