package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Want names content: what a source has under a key, or what has a digest.
type Want struct {
	// Key names the source, the object and its tag. The content of a key never changes.
	Key string
	// Size is the number of bytes; negative: it is not known before the content is there.
	Size int64
	// Digest is the SHA-256 in lower-case hex, if it is known before the download; else empty.
	Digest string
}

// Blob is a file of the cache. It stays until it is released. It must not be written to.
type Blob struct {
	Path, Digest string
	Size         int64

	release func()
}

// Release gives the file up. Further calls have no effect.
func (b *Blob) Release() { b.release() }

// cheap is the size up to which a file is hashed at each use. It is not waited for on its way to the
// disk: if that does not end well, the hash shows it.
const cheap = 1 << 20

// Find returns the content if the cache has it, else nil. The caller releases it.
func (c *Cache) Find(ctx context.Context, w Want) *Blob {
	b, intact, touched := c.lookUp(ctx, w)
	switch {
	case b == nil:
		return nil
	case intact || c.verify(ctx, b, touched):
		return b
	}
	b.Release()
	return nil
}

// lookUp finds and holds content. It reports whether the file is known to be intact, or has been
// touched since it was stored.
func (c *Cache) lookUp(ctx context.Context, w Want) (b *Blob, intact, touched bool) {
	unlock, err := c.shared(ctx)
	if err != nil {
		return nil, false, false
	}
	defer unlock()
	digest := w.Digest
	if digest == "" {
		text, err := os.ReadFile(c.keyPath(w.Key))
		if err != nil {
			return nil, false, false
		}
		digest = string(text)
	}
	if !isDigest(digest) {
		return nil, false, false
	}
	info, err := os.Stat(c.blobPath(digest))
	if err != nil {
		return nil, false, false
	}
	size := w.Size
	if size < 0 {
		size = info.Size()
	}
	if b, err = c.hold(digest, size); err != nil {
		return nil, false, false
	}
	touched = !untouched(info, digest, size)
	return b, !touched && size > cheap, touched
}

// verify hashes a file. It removes one with other content.
func (c *Cache) verify(ctx context.Context, b *Blob, touched bool) bool {
	digest, size, err := hashFile(b.Path)
	if err == nil && digest == b.Digest && size == b.Size {
		if touched {
			_ = os.Chtimes(b.Path, time.Time{}, timeOf(digest))
		}
		return true
	}
	c.opts.Log.Warn("a file of the cache of remote repositories was changed and is downloaded again", "file", b.Path)
	if unlock, err := c.exclusive(ctx); err == nil {
		_ = os.Remove(b.Path)
		unlock()
	}
	return false
}

// hold takes a reference to content. The caller has the shared or the exclusive lock.
func (c *Cache) hold(digest string, size int64) (*Blob, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[digest] == 0 {
		if err := touch(c.ownPath("held", digest)); err != nil {
			return nil, err
		}
		_ = touch(c.path("used", digest)) // without it the content counts as old
	}
	c.held[digest]++
	return &Blob{Path: c.blobPath(digest), Digest: digest, Size: size, release: sync.OnceFunc(func() { c.unhold(digest) })}, nil
}

func (c *Cache) unhold(digest string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[digest]--; c.held[digest] == 0 {
		delete(c.held, digest)
		_ = touch(c.path("used", digest))
		_ = os.Remove(c.ownPath("held", digest)) // else it is held until the process ends
	}
}

func (c *Cache) blobPath(digest string) string { return c.path("blobs", digest[:2], digest) }

func (c *Cache) keyPath(key string) string {
	name := hashText(key)
	return c.path("keys", name[:2], name)
}

// touch makes an empty file, or sets its time to now.
func touch(path string) error {
	now := time.Now()
	if err := os.Chtimes(path, now, now); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// timeOf returns the modification time of the file with a digest. Content that was written over
// has another time, and other content under the same name has another one too, as Python's cache
// of compiled modules expects.
func timeOf(digest string) time.Time {
	raw, err := hex.DecodeString(digest[:8])
	if err != nil {
		return time.Time{}
	}
	return time.Unix(1e9+int64(binary.BigEndian.Uint32(raw)%7e8), 0)
}

// untouched reports whether a file looks as it was stored.
func untouched(info fs.FileInfo, digest string, size int64) bool {
	return info.Size() == size && info.ModTime().Equal(timeOf(digest))
}

// isDigest reports whether text is a SHA-256 in lower-case hex.
func isDigest(text string) bool {
	return len(text) == hex.EncodedLen(sha256.Size) && strings.Trim(text, "0123456789abcdef") == ""
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func hashFile(path string) (digest string, size int64, err error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), size, err
}
