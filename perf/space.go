package perf

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// space is a set of objects whose names begin with the prefix of the space, which is different
// in each process. A lock that ends with the process tells others that the space is in use.
type space struct {
	prefix string
	lock   *os.File // its name is the prefix
}

// tagBytes is the length of the random part of the prefix.
const tagBytes = 4

// newSpace returns an empty space. The prefix of its names is family, which must not contain a
// slash, followed by a random tag.
func newSpace(family string) (*space, error) {
	var tag [tagBytes]byte
	_, _ = rand.Read(tag[:]) // never fails
	s := &space{prefix: family + hex.EncodeToString(tag[:])}
	// The file gets its name when it is locked. Before that it would look abandoned.
	f, err := os.OpenFile(folder+"/."+s.prefix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	err = lock(f)
	if err == nil {
		err = os.Rename(f.Name(), s.path())
	}
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", errors.Join(err, os.Remove(f.Name()), f.Close()))
	}
	s.lock = f
	return s, nil
}

func (s *space) path() string { return folder + "/" + s.prefix }

// Name returns a name of the space.
func (s *space) Name(name string) string { return s.prefix + "_" + name }

// Create creates an object. Its key is a slash and a name of the space.
func (s *space) Create(name string, size uint64) (*object, error) { return create("/"+name, size) }

// Close ends the space. Close its objects before.
func (s *space) Close() error { return errors.Join(remove("/"+s.prefix), s.lock.Close()) }

// hasEnded reports whether a name is one of a space of a family and the process of the space has
// ended.
func hasEnded(family, name string) bool {
	tag, ok := strings.CutPrefix(name, family)
	return ok && len(tag) >= 2*tagBytes && unlocked(folder+"/"+family+tag[:2*tagBytes])
}

// removeEnded removes the objects of a family's spaces whose processes have ended.
func removeEnded(family string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return fmt.Errorf("list shared memory: %w", err)
	}
	var keys []string
	for _, e := range entries {
		if e.Type().IsRegular() && hasEnded(family, e.Name()) {
			keys = append(keys, "/"+e.Name())
		}
	}
	for _, key := range keys {
		err = errors.Join(err, remove(key))
	}
	return err
}

// unlocked reports whether no process has locked a file. A file that cannot be opened belongs to
// another user.
func unlocked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer f.Close()
	return lock(f) == nil
}
