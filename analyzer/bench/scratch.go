// Temporary folders do not outlive their program for long: what a killed program has left is removed by the next
// one.

package bench

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// scratchLock is the file in a folder that its program holds locked. The kernel releases the lock of a
// killed program.
const scratchLock = ".lock"

// scratchNew is the age up to which a folder is left alone: its program may be about to lock it.
const scratchNew = time.Minute

// NewScratch makes a temporary folder in the folder in, the system's if that is empty, with a name that begins
// with prefix. Older folders of this kind whose programs have ended are removed. remove removes the folder.
func NewScratch(in, prefix string) (dir string, remove func() error, err error) {
	in = cmp.Or(in, os.TempDir())
	removeLeft(in, prefix)
	for {
		if dir, err = os.MkdirTemp(in, prefix); err != nil {
			return "", nil, err
		}
		lock := flock.New(filepath.Join(dir, scratchLock))
		locked, err := lock.TryLock()
		if locked {
			if _, err := os.Stat(lock.Path()); err == nil {
				return dir, func() error { return discard(dir, lock) }, nil
			}
			_ = lock.Close()
			continue // another program has removed the folder, and let go of the lock
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			// A file system without locks: the folder is used all the same, and nobody removes it.
			return dir, func() error { return os.RemoveAll(dir) }, nil
		}
		// Another program, whose clock is ahead, has found the folder between the two calls.
	}
}

// removeLeft removes the folders of programs that were killed.
func removeLeft(in, prefix string) {
	all, _ := filepath.Glob(filepath.Join(in, prefix+"*", scratchLock))
	for _, path := range all {
		if info, err := os.Lstat(path); err != nil || time.Since(info.ModTime()) < scratchNew {
			continue
		}
		lock := flock.New(path, flock.SetFlag(os.O_RDWR)) // does not make the file again in a folder that goes
		if locked, err := lock.TryLock(); err == nil && locked {
			_ = discard(filepath.Dir(path), lock) // the next program tries again
		}
	}
}

// discard removes a folder whose lock is held. The lock goes last: whoever gets it then finds that the
// file is gone. On Windows, where an open file cannot be removed, that takes a second attempt.
func discard(dir string, lock *flock.Flock) error {
	err := os.RemoveAll(dir)
	closed := lock.Close()
	if err != nil {
		err = os.RemoveAll(dir)
	}
	return errors.Join(err, closed)
}
