//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stagingFolders returns the folders in which `triton repo example` makes models before they are complete.
func stagingFolders(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".example-*"))
	require.NoError(t, err)
	return found
}

// TestExampleIntoClosedPipe: as in `triton repo example models | head -1`, nothing reads the list of models.
func TestExampleIntoClosedPipe(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	cmd := exec.CommandContext(t.Context(), tritonBinary(t), "repo", "example", dir)
	reader, writer, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, reader.Close())
	cmd.Stdout = writer
	err = cmd.Run()
	require.NoError(t, writer.Close())
	var failed *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Exited(), "a signal ended the program before it could tidy up: %v", err)
	}
	require.DirExists(t, dir)
	require.Empty(t, stagingFolders(t, dir))
}

// TestExampleInterrupted: Ctrl-C leaves complete models only.
func TestExampleInterrupted(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	cmd := exec.CommandContext(t.Context(), tritonBinary(t), "repo", "example", dir)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for len(ended) == 0 && len(stagingFolders(t, dir)) == 0 { // it begins with the folder
		continue
	}
	_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
	err := <-ended
	var failed *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &failed)
		require.True(t, failed.Exited(), "a signal ended the program before it could tidy up: %v", err)
	}
	require.Empty(t, stagingFolders(t, dir))
	models, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, model := range models {
		require.FileExists(t, filepath.Join(model, "config.pbtxt"))
	}
}
