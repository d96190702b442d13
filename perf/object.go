package perf

import (
	"errors"
	"fmt"
	"math"
	"os"
)

// object is a POSIX shared memory object. It is not mapped and holds no descriptor, so that a
// process may have any number of objects.
type object struct {
	key  string
	size uint64
}

var _ block = (*object)(nil)

// create creates an object. The key is a slash and a name that no object has. All of the memory
// is allocated at once: a process that writes to an object without memory ends.
func create(key string, size uint64) (*object, error) {
	o := &object{key, size}
	if size == 0 || size > math.MaxInt64 {
		return nil, fmt.Errorf("invalid size of shared memory '%s': %d bytes", key, size)
	}
	f, err := os.OpenFile(o.path(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("unable to get shared memory descriptor for shared-memory key '%s': %w", key, err)
	}
	err = allocate(f, int64(size))
	if err != nil {
		err = fmt.Errorf("unable to initialize shared-memory key '%s' to requested size: %d bytes: %w", key, size, err)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, errors.Join(err, o.Close())
	}
	return o, nil
}

func (o *object) path() string { return folder + o.key }

// Key returns the name for shm_open.
func (o *object) Key() string { return o.key }

// Size returns the size in bytes.
func (o *object) Size() uint64 { return o.size }

// within returns an error for a copy outside of the memory.
func (o *object) within(n int, offset uint64) error {
	if offset > o.size || uint64(n) > o.size-offset {
		return fmt.Errorf("copy of %d bytes at %d outside of shared memory '%s' of %d bytes", n, offset, o.key, o.size)
	}
	return nil
}

// Write copies src to the memory that starts at offset.
func (o *object) Write(src []byte, offset uint64) error {
	if err := o.within(len(src), offset); err != nil {
		return err
	}
	f, err := os.OpenFile(o.path(), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write shared memory: %w", err)
	}
	_, err = f.WriteAt(src, int64(offset))
	return errors.Join(err, f.Close())
}

// Read fills dst from the memory that starts at offset.
func (o *object) Read(dst []byte, offset uint64) error {
	if err := o.within(len(dst), offset); err != nil {
		return err
	}
	f, err := os.Open(o.path())
	if err != nil {
		return fmt.Errorf("read shared memory: %w", err)
	}
	_, err = f.ReadAt(dst, int64(offset))
	return errors.Join(err, f.Close())
}

// Close removes the object.
func (o *object) Close() error { return remove(o.key) }

// remove removes an object. It is no error that there is none.
func remove(key string) error {
	if err := os.Remove(folder + key); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove shared memory: %w", err)
	}
	return nil
}
