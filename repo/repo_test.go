package repo_test

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/repo"
)

func write(t *testing.T, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, p := range paths {
		p = filepath.Join(dir, p)
		require.NoError(t, os.MkdirAll(filepath.Dir(p), 0o755))
		require.NoError(t, os.WriteFile(p, nil, 0o644))
	}
	return dir
}

func names(models []repo.Model) []string {
	var list []string
	for _, m := range models {
		list = append(list, m.Name)
	}
	return list
}

// TestReadConfig: what is no file is refused, and is not taken for a model without a configuration.
func TestReadConfig(t *testing.T) {
	t.Parallel()
	dir := write(t, "file/1/x", "file/config.pbtxt", "folder/config.pbtxt/x", "none/1/x", "link/1/x", "dead/1/x")
	require.NoError(t, os.Symlink("../file/config.pbtxt", filepath.Join(dir, "link", "config.pbtxt")))
	require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "dead", "config.pbtxt")))
	listener, err := net.Listen("unix", filepath.Join(dir, "s")) // as a pipe, a socket is no file
	require.NoError(t, err)
	defer listener.Close()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "socket"), 0o755))
	require.NoError(t, os.Symlink("../s", filepath.Join(dir, "socket", "config.pbtxt")))
	models, err := repo.Open(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"dead", "file", "folder", "link", "none", "socket"}, names(models))
	for _, m := range models {
		_, err := m.ReadConfig()
		switch m.Name {
		case "file", "link":
			require.NoError(t, err, m.Name)
		case "none":
			require.ErrorIs(t, err, os.ErrNotExist)
		case "dead":
			require.NotErrorIs(t, err, os.ErrNotExist)
			require.EqualError(t, err, "read "+m.ConfigFile+": it is no file: the link leads to \"nothing\", which does not exist")
		default:
			require.ErrorIs(t, err, repo.ErrNoFile, m.Name)
		}
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	dir := write(t, "README.md", "a/config.pbtxt", "a/1/model.onnx", "a/03/model.onnx", "b/1/model.onnx", "b/configs/x.pbtxt", "7/1/model.onnx")
	require.NoError(t, os.Symlink("a", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("nothing", filepath.Join(dir, "dead")))

	models, err := repo.Open(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"7", "a", "b", "link"}, names(models), "files and dead links are no models, numbers are names")
	require.Len(t, models[1].Versions, 2)
	require.NotEmpty(t, models[1].Versions[0].Ignored)
	require.Len(t, models[2].Versions, 1)

	for _, path := range []string{"a", "b", "a/config.pbtxt"} {
		models, err = repo.Open(filepath.Join(dir, path))
		require.NoError(t, err, path)
		require.Equal(t, []string{path[:1]}, names(models))
		require.False(t, models[0].ConfigOnly)
	}
}

func TestOpenAlone(t *testing.T) {
	t.Parallel()
	dir := write(t, "config.pbtxt", "other.pbtxt", "text")
	for _, name := range []string{"config.pbtxt", "other.pbtxt"} {
		models, err := repo.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Len(t, models, 1)
		require.True(t, models[0].ConfigOnly)
		require.Equal(t, filepath.Join(dir, name), models[0].ConfigFile)
	}
	_, err := repo.Open(filepath.Join(dir, "text"))
	require.ErrorContains(t, err, "is neither a directory nor a config.pbtxt")
	_, err = repo.Open(filepath.Join(dir, "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = repo.Open(t.TempDir())
	require.ErrorIs(t, err, repo.ErrNoModel)
}

func TestSeverity(t *testing.T) {
	t.Parallel()
	for _, s := range []repo.Severity{repo.Note, repo.Warning, repo.Error} {
		again, err := repo.ParseSeverity(s.String())
		require.NoError(t, err)
		require.Equal(t, s, again)
	}
	_, err := repo.ParseSeverity("fatal")
	require.EqualError(t, err, `unknown severity "fatal": use note, warning or error`)
	text, err := json.Marshal(repo.Rule{ID: "TRN001", Severity: repo.Warning, Doc: "d"})
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"TRN001","severity":"warning","doc":"d"}`, string(text))
}
