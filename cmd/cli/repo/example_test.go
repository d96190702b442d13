package repo_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
)

func TestExample(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	code, out, errs := clitest.Run(t, nil, "repo", "example", dir, "--model", "simple", "--model", "identity_string")
	require.Zero(t, code, errs)
	require.Equal(t, "simple                   0.6 KiB\n"+
		"identity_string          0.4 KiB\n"+
		"serve them with: triton serve --model-repository "+dir+"\n", out)
	require.FileExists(t, filepath.Join(dir, "simple", "1", "model.onnx"))

	code, out, errs = clitest.Run(t, nil, "repo", "example", dir, "--model", "simple")
	require.Equal(t, 1, code)
	require.Empty(t, out)
	require.Equal(t, "triton: "+dir+" already has simple; nothing was written; --force replaces these folders\n", errs)
	code, _, errs = clitest.Run(t, nil, "repo", "example", dir, "--model", "simple", "--force", "--seed", "7")
	require.Zero(t, code, errs)
}

func TestExampleWrongUse(t *testing.T) {
	t.Parallel()
	code, _, errs := clitest.Run(t, nil, "repo", "example")
	require.Equal(t, 2, code)
	require.Equal(t, "triton: repo example takes one folder to write into, 0 were given\n", errs)
	code, _, _ = clitest.Run(t, nil, "repo", "example", t.TempDir(), "--seed", "x")
	require.Equal(t, 2, code)
}

func TestExampleInterrupted(t *testing.T) {
	t.Parallel()
	c := clitest.New()
	c.Signals <- syscall.SIGINT
	dir := filepath.Join(t.TempDir(), "models")
	code, out, errs := c.Start(nil, "repo", "example", dir).Wait(t)
	require.Equal(t, 1, code)
	require.NotContains(t, out, "serve them")
	require.Contains(t, errs, "interrupted\n")
}
