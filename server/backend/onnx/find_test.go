package onnx

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

func TestFind(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := func(parts ...string) string {
		path := filepath.Join(append([]string{root}, parts...)...)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	name := "libonnxruntime.so.1.31.1"
	if patterns()[0] == "libonnxruntime.dylib" {
		name = "libonnxruntime.1.31.1.dylib"
	}
	explicit, env := file("explicit", "own.so"), file("env", name)
	beside, parent := file("app", "bin", name), file("app", "lib", name)
	work, backends, system := file("work", "lib", name), file("backends", Name, name), file("system", name)

	all := Search{
		Explicit: explicit, Getenv: func(string) string { return env },
		Executable: filepath.Join(root, "app", "bin", "triton"), Directory: filepath.Join(root, "work"),
		Backends: filepath.Join(root, "backends"), System: []string{filepath.Join(root, "system")},
	}
	steps := []struct {
		want string
		drop func(s *Search)
	}{
		{explicit, func(s *Search) { s.Explicit = "" }},
		{env, func(s *Search) { s.Getenv = func(string) string { return "" } }},
		{beside, func(*Search) { require.NoError(t, os.Remove(beside)) }},
		{filepath.Join(root, "app", "bin", "..", "lib", name), func(*Search) { require.NoError(t, os.Remove(parent)) }},
		{work, func(s *Search) { s.Directory = "" }},
		{backends, func(s *Search) { s.Backends = "" }},
		{system, func(s *Search) { s.System = []string{} }},
	}
	for _, step := range steps {
		got, err := Find(all)
		require.NoError(t, err)
		require.Equal(t, filepath.Clean(step.want), filepath.Clean(got))
		step.drop(&all)
	}
	_, err := Find(all)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
	for _, part := range []string{"make onnxruntime", "pip download onnxruntime==1.31.1", "--onnxruntime-library", Environment} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "\n")
}

func TestFindNamed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Find(Search{Explicit: dir})
	require.ErrorContains(t, err, "given by the setting --onnxruntime-library cannot be used: no ")
	_, err = Find(Search{Getenv: func(string) string { return filepath.Join(dir, "none") }})
	require.ErrorContains(t, err, "given by the environment variable "+Environment)
	require.Equal(t, status.Unavailable, status.CodeOf(err))
}

func TestFindNewest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "odd[1]*name")
	require.NoError(t, os.Mkdir(dir, 0o700))
	for _, v := range []string{"1.9.2", "1.31.1", "1.31"} {
		for _, p := range patterns() {
			name := filepath.Join(dir, filepath.Base(p))
			require.NoError(t, os.WriteFile(replaceStar(name, v), nil, 0o600))
		}
	}
	require.Contains(t, newest(dir), "1.31.1")
}

func replaceStar(path, with string) string {
	dir, file := filepath.Split(path)
	for k := range file {
		if file[k] == '*' {
			return dir + file[:k] + with + file[k+1:]
		}
	}
	return path
}
