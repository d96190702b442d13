package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"triton/server/store/remote"
)

// ErrDiskFull is wrapped by the errors about content that does not fit on the disk.
var ErrDiskFull = errors.New("the disk is full")

// Get returns content, which fill writes if the cache does not have it. Of several callers for the
// same key, in all processes, one calls fill and the others wait. The caller releases the result.
func (c *Cache) Get(ctx context.Context, w Want, fill func(ctx context.Context, f *os.File) error) (*Blob, error) {
	if b := c.Find(ctx, w); b != nil {
		c.hits.Add(1)
		return b, nil
	}
	unlock, err := c.lockKey(ctx, w.Key)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if b := c.Find(ctx, w); b != nil {
		c.hits.Add(1)
		return b, nil
	}
	c.misses.Add(1)
	c.makeRoom(ctx, max(w.Size, 0))
	b, err := c.add(ctx, w, fill)
	if isDiskFull(err) && c.evict(ctx, func(int64) bool { return true }) > 0 {
		b, err = c.add(ctx, w, fill)
	}
	if isDiskFull(err) {
		err = fmt.Errorf("%w: %s bytes do not fit into the cache folder %s; free space, or choose a folder with --repository-cache-directory",
			ErrDiskFull, sizeText(w.Size), c.opts.Dir)
	}
	return b, err
}

func sizeText(size int64) string {
	if size < 0 {
		return "the"
	}
	return strconv.FormatInt(size, 10)
}

func isDiskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// retryLock is how often a process looks whether another one has finished a download.
const retryLock = 50 * time.Millisecond

// lockKey waits until nothing else downloads the content of a key.
func (c *Cache) lockKey(ctx context.Context, key string) (unlock func(), err error) {
	for {
		c.mu.Lock()
		other, busy := c.flights[key]
		if !busy {
			break
		}
		c.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	done := make(chan struct{})
	c.flights[key] = done
	c.mu.Unlock()
	leave := func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.flights, key)
		close(done)
	}
	l := flock.New(c.path("locks", hashText(key)))
	if _, err := l.TryLockContext(ctx, retryLock); err != nil {
		leave()
		return nil, fmt.Errorf("waiting for a download of another process: %w", err)
	}
	return func() {
		_ = os.Remove(l.Path()) // who opened it meanwhile downloads again, at worst
		_ = l.Unlock()
		leave()
	}, nil
}

// add stores what fill writes.
func (c *Cache) add(ctx context.Context, w Want, fill func(ctx context.Context, f *os.File) error) (_ *Blob, err error) {
	f, err := os.CreateTemp(c.ownPath(), "part-")
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = f.Close()           // again after a success
		_ = os.Remove(f.Name()) // after a success it has another name
	}()
	if err := fill(ctx, f); err != nil {
		return nil, err
	}
	if w.Size > cheap {
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	digest, size, err := hashFile(f.Name())
	switch {
	case err != nil:
		return nil, err
	case w.Size >= 0 && size != w.Size:
		return nil, fmt.Errorf("%w: %d bytes instead of %d", remote.ErrContent, size, w.Size)
	case w.Digest != "" && digest != w.Digest:
		return nil, fmt.Errorf("%w: SHA-256 %s instead of %s", remote.ErrContent, digest, w.Digest)
	}
	w.Size = size
	return c.commit(ctx, w, f, digest)
}

// commit moves a finished file to its place.
func (c *Cache) commit(ctx context.Context, w Want, f *os.File, digest string) (*Blob, error) {
	if err := errors.Join(f.Chmod(0o444), f.Close(), os.Chtimes(f.Name(), time.Time{}, timeOf(digest))); err != nil {
		return nil, err
	}
	unlock, err := c.shared(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	b, err := c.hold(digest, w.Size)
	if err != nil {
		return nil, err
	}
	if err := c.place(f.Name(), b, w); err != nil {
		b.Release()
		return nil, err
	}
	return b, nil
}

func (c *Cache) place(temp string, b *Blob, w Want) error {
	info, err := os.Stat(b.Path)
	if err != nil || !untouched(info, b.Digest, w.Size) { // else another key has the same content
		if err := errors.Join(os.MkdirAll(filepath.Dir(b.Path), 0o700), os.Rename(temp, b.Path)); err != nil {
			return err
		}
	}
	if err != nil {
		c.bytes.Add(w.Size)
		c.added.Add(w.Size)
	}
	return c.writeKey(w.Key, b.Digest)
}

func (c *Cache) writeKey(key, digest string) error {
	return c.putText(c.keyPath(key), []byte(digest))
}
