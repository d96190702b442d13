package mirror

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
)

// Folder makes a folder of this process with the given files, by their paths in it, and with empty
// folders. It takes over the references to the files, also after an error; free removes the folder
// and releases them. Paths that CheckName refuses are errors.
func (c *Cache) Folder(files map[string]*Blob, empty []string) (dir string, free func(), err error) {
	c.mu.Lock()
	c.folders++
	name := path.Join("process", c.own.id, "folder-"+strconv.Itoa(c.folders))
	c.mu.Unlock()
	dir = c.path(filepath.FromSlash(name))
	free = sync.OnceFunc(func() {
		_ = os.RemoveAll(dir) // else Close removes it
		for _, b := range files {
			b.Release()
		}
	})
	if err := c.build(name, files, empty); err != nil {
		free()
		return "", nil, err
	}
	return dir, free, nil
}

func (c *Cache) build(name string, files map[string]*Blob, empty []string) error {
	if err := c.root.MkdirAll(name, 0o700); err != nil {
		return err
	}
	for _, sub := range empty {
		if err := CheckName(sub); err != nil {
			return err
		}
		if err := c.root.MkdirAll(path.Join(name, sub), 0o700); err != nil {
			return err
		}
	}
	for rel, b := range files {
		if err := CheckName(rel); err != nil {
			return err
		}
		to := path.Join(name, rel)
		if err := c.root.MkdirAll(path.Dir(to), 0o700); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
		if err := c.link(b, to); err != nil {
			return fmt.Errorf("%q: %w", rel, err)
		}
	}
	return nil
}

// link makes a hard link to a file, or a copy where the file system has no such links.
func (c *Cache) link(b *Blob, to string) error {
	if c.root.Link(path.Join("blobs", b.Digest[:2], b.Digest), to) == nil {
		return nil
	}
	from, err := os.Open(b.Path)
	if err != nil {
		return err
	}
	defer from.Close()
	f, err := c.root.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close(), c.root.Chtimes(to, timeOf(b.Digest), timeOf(b.Digest)))
}
