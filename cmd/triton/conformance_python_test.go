package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"triton/server/servertest/conformance"
)

// A file whose head names a repository brings Python models, which both servers load
// unchanged: the archive of that name beside it. "load: <models>" loads them explicitly, also
// none, without it all are loaded at the start; "flags: <flags>" are flags of both servers. Files
// with "lane: long" load dozens of models, which takes tens of seconds, so only
// `make conformance` and `make compare` ask them.

// pythonModels unpacks the repository of a file.
func pythonModels(t *testing.T, s *conformance.Suite) string {
	t.Helper()
	archive, err := txtar.ParseFile(root(t, "server", "servertest", "conformance", "testdata", s.Needs["repository"]))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "models") // scripts move models to the folder above, which no other server shares
	for _, f := range archive.Files {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, f.Data, 0o644))
	}
	return dir
}

// pythonFlags are the flags of both servers for a file with Python models.
func pythonFlags(s *conformance.Suite) []string {
	flags := strings.Fields(s.Needs["flags"])
	if models, explicit := s.Needs["load"]; explicit {
		flags = append(flags, "--model-control-mode=explicit")
		for _, m := range strings.Fields(models) {
			if m == "none" {
				continue
			}
			flags = append(flags, "--load-model="+m)
		}
	}
	return flags
}

// needPython skips the test if no interpreter has numpy, and returns the flag that names
// one for our server.
func needPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{root(t, ".venv", "bin", "python"), "python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import numpy").Run() == nil {
			return "--backend-config=python,python-executable=" + python
		}
	}
	t.Skip("needs Python with numpy: run `make .venv/.stamp`")
	return ""
}
