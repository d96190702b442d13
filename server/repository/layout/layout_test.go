package layout

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/server/infer"
	"triton/server/store"
)

// counted is a local store that counts the folders that are held.
type counted struct {
	*store.Paths
	stamps, open int
}

func (s *counted) Stamp(ctx context.Context, m store.Model) (store.Stamp, error) {
	s.stamps++
	return s.Paths.Stamp(ctx, m)
}

func (s *counted) Fetch(_ context.Context, m store.Model, _ string) (*store.Folder, error) {
	s.open++
	return store.NewFolder(m.Location, func() { s.open-- }), nil
}

const plain = `backend: "b" input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } `

func ensemble(steps ...string) string {
	text := `platform: "ensemble" input { name: "IN" data_type: TYPE_INT32 dims: [ 1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ 1 ] } ensemble_scheduling { `
	from := "IN"
	for i, name := range steps {
		to := "T" + strings.Repeat("T", i)
		if i == len(steps)-1 {
			to = "OUT"
		}
		text += `step { model_name: "` + name + `" model_version: -1 input_map { key: "IN" value: "` + from + `" } output_map { key: "OUT" value: "` + to + `" } } `
		from = to
	}
	return text + "}"
}

// newStore makes a store of one path for each tree of files; a name that ends in "/" is a
// folder.
func newStore(t *testing.T, trees ...map[string]string) (s *counted, paths []string) {
	t.Helper()
	for _, files := range trees {
		dir := t.TempDir()
		for name, text := range files {
			path := filepath.Join(dir, name)
			if strings.HasSuffix(name, "/") {
				require.NoError(t, os.MkdirAll(path, 0o755))
				continue
			}
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
		paths = append(paths, dir)
	}
	return &counted{Paths: store.NewPaths(paths, len(paths) > 1, store.OpenDir)}, paths
}

// TestParts: with namespacing, the model of a step is the one in the ensemble's own space, or
// the only one of its name.
func TestParts(t *testing.T) {
	t.Parallel()
	s, paths := newStore(t,
		map[string]string{"e/config.pbtxt": ensemble("a", "b", "c"), "e/1/": "", "a/": ""},
		map[string]string{"a/": "", "b/": "", "c/": ""},
		map[string]string{"c/": ""},
	)
	d := Reader{Store: s, Namespacing: true}
	l := d.List(t.Context())
	defer l.Release()
	require.NoError(t, l.Err)
	c, err := l.Content(t.Context(), l.Model(store.ID{Namespace: paths[0], Name: "e"}), nil)
	require.NoError(t, err)
	require.True(t, c.Ensemble())
	require.Equal(t, []store.ID{{Namespace: paths[0], Name: "a"}, {Namespace: paths[1], Name: "b"}, {}}, c.ComposingModels)
	require.Equal(t, []string{"a", "b", "c"}, l.StepNames(t.Context(), "e", nil))
	override := `{"ensemble_scheduling":{"step":[{"model_name":"x"}]}}`
	require.Equal(t, []string{"x"}, l.StepNames(t.Context(), "e", &override))
	require.Empty(t, l.StepNames(t.Context(), "unknown", nil))
}

// TestVersions: the policy picks from the folders that are versions.
func TestVersions(t *testing.T) {
	t.Parallel()
	s, paths := newStore(t, map[string]string{
		"m/config.pbtxt": plain + `version_policy { specific { versions: [ 7, 3, 1 ] } }`,
		"m/1/":           "", "m/2/": "", "m/3/": "", "m/03/": "", "m/x/": "",
		"m/3_failed/": "", "m/7 (copy)/": "", "m/1.bak/": "", "m/1~/": "",
	})
	d := Reader{Store: s}
	l := d.List(t.Context())
	defer l.Release()
	c, err := l.Content(t.Context(), &l.Models[0], nil)
	require.NoError(t, err)
	require.Equal(t, []Version{{1, "1"}, {3, "3"}}, c.Versions)
	require.Equal(t, []int64{7}, c.Missing)
	require.Len(t, c.Ignored, 6)
	for i, name := range []string{"03", "1.bak", "1~", "3_failed", "7 (copy)", "x"} {
		require.Contains(t, c.Ignored[i], "ignore version directory '"+name+"' which ")
	}
	require.Equal(t, filepath.Join(paths[0], "m", "3"), c.Origin(c.Versions[1]))
	require.Equal(t, "config.pbtxt", c.ConfigEntry)
}

// TestListingReadsOnce: a listing takes each stamp once, parses a configuration once, and
// releases what it holds.
func TestListingReadsOnce(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, map[string]string{"m/config.pbtxt": plain, "m/1/": "", "bad/config.pbtxt": "input [", "bad/1/": ""})
	d := Reader{Store: s}
	l := d.List(t.Context())
	m, bad := l.Model(store.ID{Name: "m"}), l.Model(store.ID{Name: "bad"})
	require.Empty(t, l.StepNames(t.Context(), "m", nil))
	first, err := l.Content(t.Context(), m, nil)
	require.NoError(t, err)
	again, err := l.Content(t.Context(), m, nil)
	require.NoError(t, err)
	require.Same(t, first, again)
	_, err = l.Content(t.Context(), bad, nil)
	require.ErrorContains(t, err, "failed to read text proto")
	require.Equal(t, 2, s.stamps)
	require.Equal(t, 1, s.open)

	override := `{"backend":"other","input":[{"name":"IN","data_type":"TYPE_INT32","dims":[1]}],"output":[{"name":"OUT","data_type":"TYPE_INT32","dims":[1]}]}`
	other, err := l.Content(t.Context(), m, &override)
	require.NoError(t, err)
	require.Equal(t, "other", other.Config.GetBackend())
	require.Equal(t, 1, s.open, "it replaces the content that was read before")

	l.Renew(t.Context())
	require.Zero(t, s.open)
	_, err = l.Content(t.Context(), l.Model(store.ID{Name: "m"}), nil)
	require.NoError(t, err)
	require.Equal(t, 3, s.stamps)
	l.Release()
	require.Zero(t, s.open)
}

// TestUnpack: files that came with a load are content without a stamp, with all versions.
func TestUnpack(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, map[string]string{"m/config.pbtxt": plain, "m/1/": ""})
	var scratch store.Scratch
	defer func() { require.NoError(t, scratch.Remove()) }()
	config := `{"backend":"b","input":[{"name":"IN","data_type":"TYPE_INT32","dims":[1]}],"output":[{"name":"OUT","data_type":"TYPE_INT32","dims":[1]}]}`
	d := Reader{Store: s}
	l := d.List(t.Context())
	c, err := l.Unpack(&scratch, "m", infer.LoadOptions{Config: &config, Files: map[string][]byte{"file:5/model": []byte("x")}})
	require.NoError(t, err)
	require.Nil(t, c.Stamp)
	require.Equal(t, []Version{{5, "5"}}, c.Versions)
	folder, err := c.Fetch(t.Context(), s, "5")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(folder.Dir, "5", "model"))
	require.Zero(t, s.open, "the store is not called")
	l.Release()
	require.DirExists(t, c.Folder.Dir)
	folder.Release()
	require.NoDirExists(t, c.Folder.Dir)

	_, err = l.Unpack(&scratch, "m", infer.LoadOptions{Files: map[string][]byte{"file:5/model": nil}})
	require.EqualError(t, err, "Load parameter 'config' must be specified for model file override")
}

// TestDeadLink: a configuration that is a link to nothing is refused, as by NVIDIA's server; it is
// not completed as if there were none.
func TestDeadLink(t *testing.T) {
	t.Parallel()
	s, paths := newStore(t, map[string]string{"m/1/model.onnx": "", "none/1/model.onnx": ""})
	path := filepath.Join(paths[0], "m", "config.pbtxt")
	require.NoError(t, os.Symlink("nothing", path))
	d := Reader{Store: s, AutoComplete: true}
	l := d.List(t.Context())
	defer l.Release()
	_, err := l.Content(t.Context(), l.Model(store.ID{Name: "m"}), nil)
	require.EqualError(t, err, "failed to open text file for read "+path+": No such file or directory")
	c, err := l.Content(t.Context(), l.Model(store.ID{Name: "none"}), nil)
	require.NoError(t, err)
	require.Equal(t, "onnxruntime", c.Config.Backend)
}

// TestNoBackend: a model without a configuration whose file no backend reads says what the file is.
func TestNoBackend(t *testing.T) {
	t.Parallel()
	s, _ := newStore(t, map[string]string{"m/1/model.gguf": "GGUF\x03\x00\x00\x00", "empty/1/": ""})
	r := Reader{Store: s, AutoComplete: true}
	l := r.List(t.Context())
	defer l.Release()
	const unknown = "Invalid model name: Could not determine backend for model '%s' with no backend in model configuration. Expected model name of the form 'model.<backend_name>'."
	for name, want := range map[string]string{
		"m":     fmt.Sprintf(unknown, "m") + ` (1/model.gguf is a GGUF file of llama.cpp: write a model.py that loads it with llama-cpp-python, and backend: "python")`,
		"empty": fmt.Sprintf(unknown, "empty"),
	} {
		_, err := l.Content(t.Context(), l.Model(store.ID{Name: name}), nil)
		require.EqualError(t, err, want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}
