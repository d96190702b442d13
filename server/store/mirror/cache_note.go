package mirror

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// KeepNote stores a small text under a name, in place of an earlier one. Notes are not content: no limit
// counts them, and nothing removes them.
func (c *Cache) KeepNote(name string, text []byte) error {
	return c.putText(c.notePath(name), text)
}

// putText replaces a small file.
func (c *Cache) putText(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(c.ownPath(), "part-")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
	}
	return err
}

// Note returns the text of a name, and when it was stored.
func (c *Cache) Note(name string) (text []byte, at time.Time, err error) {
	path := c.notePath(name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, at, err
	}
	text, err = os.ReadFile(path)
	return text, info.ModTime(), err
}

func (c *Cache) notePath(name string) string { return c.path("notes", hashText(name)) }
