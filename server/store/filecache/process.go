package filecache

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// process is the folder of this process. Others see by its lock that the process lives.
type process struct {
	id   string
	lock *flock.Flock
}

// exclusive waits until no other process or goroutine reads or changes the cache.
func (c *Cache) exclusive() (unlock func(), err error) { return c.lockWith((*flock.Flock).Lock) }

// shared lets others look up files, but not remove them.
func (c *Cache) shared() (unlock func(), err error) { return c.lockWith((*flock.Flock).RLock) }

// lockWith locks the whole cache. The sections that hold it make no requests.
func (c *Cache) lockWith(lock func(*flock.Flock) error) (unlock func(), err error) {
	l := flock.New(c.path("lock"))
	if err := lock(l); err != nil {
		return nil, fmt.Errorf("locking the cache folder %s: %w", c.opts.Dir, err)
	}
	return func() { _ = l.Unlock() }, nil
}

// enter makes the folder of this process and removes those of processes that have ended.
func (c *Cache) enter() error {
	unlock, err := c.exclusive()
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
	unlock, err := c.exclusive()
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
		if e.Name() != c.own.id && ended(dir) {
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

// ended reports whether the process of a folder has ended.
func ended(dir string) bool {
	l := flock.New(filepath.Join(dir, "lock"))
	locked, err := l.TryLock()
	if locked {
		_ = l.Close()
	}
	return locked && err == nil
}
