//go:build unix

package example

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFetchIsInterrupted ends a pip that would not end by itself.
func TestFetchIsInterrupted(t *testing.T) {
	w, _, _ := served(t, nil)
	started := filepath.Join(t.TempDir(), "started")
	require.NoError(t, syscall.Mkfifo(started, 0o600))
	slow, _ := fakePython(t, ": > "+started+"; exec sleep 600")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error)
	go func() {
		_, err := fetcher{slow, ""}.get(ctx, w, t.TempDir())
		ended <- err
	}()
	f, err := os.Open(started) // opens when pip runs
	require.NoError(t, err)
	require.NoError(t, f.Close())
	cancel(errors.New("interrupted"))
	require.EqualError(t, <-ended, "interrupted")
}
