package store

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/sharedtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openWatcher(t *testing.T, roots ...string) (*Watcher, *sharedtest.LogBuffer) {
	out := &sharedtest.LogBuffer{}
	w := NewWatcher(slog.New(slog.NewTextHandler(out, nil)))
	t.Cleanup(w.Close)
	w.Follow(roots)
	return w, out
}

// watcherTells waits for a change, and for the end of the events that belong to it.
func watcherTells(t *testing.T, w *Watcher) {
	t.Helper()
	select {
	case <-w.Changed():
	case <-time.After(time.Minute):
		t.Fatal("the change was not told")
	}
	for {
		select {
		case <-w.Changed():
		case <-time.After(50 * time.Millisecond):
			return
		}
	}
}

// Each kind of change is told, at any depth, also behind links and in folders that were made, moved
// away and made again later.
func TestWatcher(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	version := filepath.Join(root, "m", "1")
	file := filepath.Join(version, "model.onnx")
	require.NoError(t, os.MkdirAll(version, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(elsewhere, "config.pbtxt"), nil, 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(root, "linked")))
	require.NoError(t, os.Symlink(root, filepath.Join(version, "circle")))
	w, out := openWatcher(t, root, filepath.Join(root, "none"))
	second := filepath.Join(root, "m", "2")
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"a new file", func() error { return os.WriteFile(file, []byte("a"), 0o600) }},
		{"more bytes", func() error { return os.WriteFile(file, []byte("bb"), 0o600) }},
		{"other times", func() error { return os.Chtimes(file, time.Now(), time.Now()) }},
		{"a file behind a link", func() error { return os.WriteFile(filepath.Join(elsewhere, "config.pbtxt"), []byte("x"), 0o600) }},
		{"a new folder", func() error { return os.Mkdir(second, 0o755) }},
		{"a file in a folder that is followed since", func() error { return os.WriteFile(filepath.Join(second, "model.onnx"), nil, 0o600) }},
		{"a folder that moves away", func() error { return os.Rename(second, filepath.Join(elsewhere, "2")) }},
		{"another folder in its place", func() error { return os.Mkdir(second, 0o755) }},
		{"a file in that", func() error { return os.WriteFile(filepath.Join(second, "model.onnx"), nil, 0o600) }},
		{"the removal of a model", func() error { return os.RemoveAll(filepath.Join(root, "m")) }},
	} {
		require.NoError(t, step.do(), step.name)
		t.Log(step.name)
		watcherTells(t, w)
		w.Follow([]string{root})
	}
	require.Empty(t, out.String())
}

// A folder that cannot be read does not keep the others from being watched.
func TestWatcherOfUnreadable(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "a"), 0o000))
	require.NoError(t, os.Mkdir(filepath.Join(root, "b"), 0o755))
	w, out := openWatcher(t, root)
	require.NoError(t, os.WriteFile(filepath.Join(root, "b", "x"), nil, 0o600))
	watcherTells(t, w)
	require.Empty(t, out.String())
}

// When the queue of the system overflows, that counts as a change. One warning tells that the limit of
// watches is reached.
func TestWatcherOverflow(t *testing.T) {
	t.Parallel()
	w, out := openWatcher(t, t.TempDir())
	w.system.Errors <- fsnotify.ErrEventOverflow
	watcherTells(t, w)
	w.warn(syscall.ENOSPC)
	w.warn(syscall.ENOSPC)
	require.Equal(t, 1, strings.Count(out.String(), "max_user_watches"))
}

// Without a watcher of the system nothing is told and nothing fails.
func TestNoWatcher(t *testing.T) {
	t.Parallel()
	out := &sharedtest.LogBuffer{}
	w := &Watcher{log: slog.New(slog.NewTextHandler(out, nil)), done: make(chan struct{})}
	close(w.done)
	w.warn(syscall.EMFILE)
	w.Follow([]string{t.TempDir()})
	w.Close()
	require.Contains(t, out.String(), "max_user_instances")
}
