package mirror_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"triton/server/store/mirror"
)

// A process that keeps the lock of the cache holds up others no longer than their contexts, and no longer
// than it has the lock.
func TestLockOfAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c, err := mirror.OpenCache(mirror.CacheOptions{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer c.Close()
	fill := func(_ context.Context, f *os.File) error {
		_, err := f.WriteString("content")
		return err
	}
	other := flock.New(filepath.Join(dir, "lock"))
	require.NoError(t, other.Lock())
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err = c.Get(ctx, mirror.Want{Key: "k", Size: -1}, fill)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	got := make(chan error, 1)
	go func() {
		b, err := c.Get(t.Context(), mirror.Want{Key: "k", Size: -1}, fill)
		if err == nil {
			b.Release()
		}
		got <- err
	}()
	require.NoError(t, other.Unlock())
	require.NoError(t, <-got)
}
