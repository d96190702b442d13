package fleet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"triton/pkg/replacefile"
	"triton/pkg/status"
)

// writer changes the file of the document. Other processes may change it too: a writer holds the
// lock file beside it while it reads the file, changes the text and replaces the file.
type writer struct{ path string }

func newWriter(s source) (*writer, error) {
	f, ok := s.(*fileSource)
	if !ok {
		return nil, fmt.Errorf("a server can write its state to a file only, not to %s", s.name())
	}
	return &writer{f.path}, nil
}

// lockWait is the time from one try to lock the file to the next, and lockTimeout how long a writer
// waits for others.
const (
	lockWait    = 10 * time.Millisecond
	lockTimeout = 10 * time.Second
)

// change replaces the text of the file by what edit makes of it, and returns the new text. A file
// that does not exist is empty.
func (w *writer) change(ctx context.Context, edit func(text []byte) ([]byte, error)) ([]byte, error) {
	path := w.path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link stays a link
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, writeError(path, err)
	}
	defer func() { _ = lock.Close() }() // unlocks it
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for tryLock(lock) != nil {
		select {
		case <-time.After(lockWait):
		case <-ctx.Done():
			return nil, status.New(status.Unavailable, "the state %s is locked by another writer", path)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, writeError(path, err)
	}
	if text, err = edit(text); err != nil {
		return nil, err
	}
	if err := replacefile.Text(path, mode(path), text); err != nil {
		return nil, writeError(path, err)
	}
	return text, nil
}

func writeError(path string, err error) error {
	return status.New(status.Unavailable, "the state %s cannot be written: %s", path, status.Strerror(err))
}

// mode returns the permissions of a file, or those of a new one.
func mode(path string) fs.FileMode {
	if info, err := os.Stat(path); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}
