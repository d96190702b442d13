//go:build amd64 || arm64

package shm

import (
	"errors"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"triton/pkg/status"
)

// folder is where Linux keeps POSIX shared memory objects.
const folder = "/dev/shm/"

// object is an opened POSIX shared memory object with one mapping. The descriptor stays
// open, to check the size of the object.
type object struct {
	fd    int
	file  *os.File  // of fd
	id    [2]uint64 // device and inode
	mem   []byte
	guard *guarded
}

// openObject is shm_open. The name has no leading slash.
func openObject(name string) (*object, error) {
	if strings.ContainsAny(name, "/\x00") {
		return nil, unix.EINVAL
	}
	fd, err := unix.Open(folder+name, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &object{fd: fd, file: os.NewFile(uintptr(fd), name)}, nil
}

var errNoFile = errors.New("not a file")

// size returns the size of the object in bytes.
func (o *object) size() (uint64, error) {
	var s unix.Stat_t
	if err := unix.Fstat(o.fd, &s); err != nil {
		return 0, err
	}
	if s.Mode&unix.S_IFMT != unix.S_IFREG || s.Size < 0 {
		return 0, errNoFile
	}
	o.id = [2]uint64{s.Dev, s.Ino}
	return uint64(s.Size), nil
}

// holds reports whether the object still has its first n bytes.
func (o *object) holds(n uint64) bool {
	var s unix.Stat_t
	return unix.Fstat(o.fd, &s) == nil && s.Size >= 0 && uint64(s.Size) >= n
}

// open maps a part of the object that was checked to exist. The text is the C library's
// error, or empty.
func (o *object) open(offset, n uint64) (text string) {
	mem, err := unix.Mmap(o.fd, int64(offset), int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return status.Strerror(err)
	}
	if o.guard, err = guard(mem); err != nil {
		_ = unix.Munmap(mem) // only a wrong address can fail here
		return err.Error()
	}
	o.mem = mem
	return ""
}

// lost reports whether the client has taken a part of the memory away.
func (o *object) lost() bool { return o.guard.isLost() }

// close unmaps and closes.
func (o *object) close() {
	if o.mem != nil {
		o.guard.release()
		_ = unix.Munmap(o.mem) // only a wrong address can fail here
		o.mem = nil
	}
	_ = o.file.Close()
}
