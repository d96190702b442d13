package python

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is the time between two attempts to lock a file.
const lockWait = 100 * time.Millisecond

// lockFile waits until no other process, and no other load, holds the lock of a file. The lock ends
// when the file is closed, in this process and in those that inherit it.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-time.After(lockWait):
		}
	}
	return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
}

// checkPrivate checks that no other user can write to a folder.
func checkPrivate(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || info.Mode().Perm()&0o022 != 0 || !ok || int(s.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder that only this user can write to", dir)
	}
	return nil
}
