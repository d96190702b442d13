package mirror

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// cacheProcess is the folder of this process. Others see by its lock that the process lives.
type cacheProcess struct {
	id   string
	lock *flock.Flock
}

// exclusive waits until no other process or goroutine reads or changes the cache, or until ctx ends.
func (c *Cache) exclusive(ctx context.Context) (unlock func(), err error) {
	return c.lockWith(ctx, (*flock.Flock).TryLock)
}

// shared lets others look up files, but not remove them.
func (c *Cache) shared(ctx context.Context) (unlock func(), err error) {
	return c.lockWith(ctx, (*flock.Flock).TryRLock)
}

// The pauses between the tries to lock the cache. A process that is stopped while it has the lock, or a file
// server that hangs, must not hold up others beyond their contexts, and the system's call to wait cannot be
// ended.
const (
	firstTry = 100 * time.Microsecond
	lastTry  = 20 * time.Millisecond
)

// lockWith locks the whole cache. The sections that hold it make no requests.
func (c *Cache) lockWith(ctx context.Context, try func(*flock.Flock) (bool, error)) (unlock func(), err error) {
	l := flock.New(c.path("lock"))
	for pause := firstTry; ; pause = min(2*pause, lastTry) {
		locked, err := try(l)
		if err != nil {
			return nil, fmt.Errorf("locking the cache folder %s: %w", c.opts.Dir, err)
		}
		if locked {
			return func() { _ = l.Unlock() }, nil
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for the lock of the cache folder %s, which another process has: %w", c.opts.Dir, context.Cause(ctx))
		}
	}
}

// ownTime bounds the wait for the lock at the beginning and the end of a process.
const ownTime = time.Minute

// enter makes the folder of this process and removes those of processes that have ended.
func (c *Cache) enter() error {
	ctx, cancel := context.WithTimeout(context.Background(), ownTime)
	defer cancel()
	unlock, err := c.exclusive(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := c.heldByAll(); err != nil {
		return err
	}
	c.own.id = fmt.Sprintf("%d-%s", os.Getpid(), rand.Text()[:8])
	if err := os.MkdirAll(c.ownPath("held"), 0o700); err != nil {
		return err
	}
	c.own.lock = flock.New(c.ownPath("lock"))
	if locked, err := c.own.lock.TryLock(); err != nil || !locked {
		return errors.Join(fmt.Errorf("locking %s", c.ownPath("lock")), err)
	}
	_, err = c.survey()
	return err
}

// leave removes the folder of this process.
func (c *Cache) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), ownTime)
	defer cancel()
	unlock, err := c.exclusive(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	err = c.own.lock.Close()
	return errors.Join(err, os.RemoveAll(c.ownPath()))
}

func (c *Cache) ownPath(parts ...string) string {
	return c.path(append([]string{"process", c.own.id}, parts...)...)
}

// heldByAll returns the digests that processes use, and removes the folders of processes that have
// ended. The caller has the exclusive lock.
func (c *Cache) heldByAll() (map[string]bool, error) {
	all, err := os.ReadDir(c.path("process"))
	if err != nil {
		return nil, err
	}
	held := map[string]bool{}
	for _, e := range all {
		dir := c.path("process", e.Name())
		if e.Name() != c.own.id && processEnded(dir) {
			_ = os.RemoveAll(dir) // what is left is removed by the next one
			continue
		}
		names, err := os.ReadDir(filepath.Join(dir, "held"))
		if err != nil {
			return nil, err
		}
		for _, n := range names {
			held[n.Name()] = true
		}
	}
	return held, nil
}

// processEnded reports whether the process of a folder has ended.
func processEnded(dir string) bool {
	l := flock.New(filepath.Join(dir, "lock"))
	locked, err := l.TryLock()
	if locked {
		_ = l.Close()
	}
	return locked && err == nil
}
