package tensor

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memfd is a source of memory that other processes can map. All mappings are ranges of
// one sparse memory file, and no range is used twice: a child needs only the inherited
// descriptor, and a range that it reads too late is zeros. See docs/adr/0011-memory.md.
type Memfd struct {
	file *os.File

	mu struct {
		sync.Mutex
		end int64 // of the ranges in use so far
	}
}

var _ Source = (*Memfd)(nil)

// NewMemfd creates a memory file. It fails if the system has none, cannot release
// ranges or limits the size of files.
func NewMemfd() (*Memfd, error) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return nil, fmt.Errorf("reading the limit of file sizes: %w", err)
	}
	if limit.Cur != unix.RLIM_INFINITY {
		return nil, fmt.Errorf("memory file: file sizes are limited to %d bytes (ulimit -f)", limit.Cur)
	}
	fd, err := memfd()
	if err != nil {
		return nil, fmt.Errorf("making a memory file: %w", err)
	}
	m := &Memfd{file: os.NewFile(uintptr(fd), "triton_tensors")}
	if err := m.prepare(fd); err != nil {
		return nil, errors.Join(err, m.file.Close())
	}
	return m, nil
}

// memfd opens a memory file that cannot be executed, as newer systems may demand.
func memfd() (int, error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate("triton_tensors", flags|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) {
		return unix.MemfdCreate("triton_tensors", flags)
	}
	return fd, err
}

// prepare checks that Unmap can release ranges, and seals the file so that other
// processes cannot shrink it.
func (m *Memfd) prepare(fd int) error {
	page := int64(os.Getpagesize())
	if err := unix.Ftruncate(fd, page); err != nil {
		return fmt.Errorf("enlarging a memory file: %w", err)
	}
	if err := punch(fd, 0, page); err != nil {
		return fmt.Errorf("punching a hole into a memory file: %w", err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("sealing a memory file: %w", err)
	}
	return nil
}

func punch(fd int, offset, n int64) error {
	return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, offset, n)
}

// Map maps the next range of the file, or private memory if the system refuses that.
func (m *Memfd) Map(n int) (Mapping, error) {
	fd := int(m.file.Fd())
	offset, err := m.grow(fd, pages(n))
	if err == nil {
		var mem []byte
		if mem, err = unix.Mmap(fd, offset, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED); err == nil {
			return Mapping{Bytes: mem, File: m.file, Offset: offset}, nil
		}
	}
	private, failed := Anonymous{}.Map(n)
	if failed != nil {
		return Mapping{}, fmt.Errorf("%w; in the memory file: %w", failed, err)
	}
	return private, nil
}

// grow appends a range to the file.
func (m *Memfd) grow(fd int, n int64) (offset int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	err = unix.Ftruncate(fd, m.mu.end+n)
	if errors.Is(err, unix.EPERM) { // another process has enlarged the file, and the seal keeps it so
		var at unix.Stat_t
		if err = unix.Fstat(fd, &at); err != nil {
			return 0, err
		}
		m.mu.end = pages(int(at.Size))
		err = unix.Ftruncate(fd, m.mu.end+n)
	}
	if err != nil {
		return 0, err
	}
	offset = m.mu.end
	m.mu.end += n
	return offset, nil
}

// pages is n rounded up to whole pages.
func pages(n int) int64 {
	page := int64(os.Getpagesize())
	return (int64(n) + page - 1) &^ (page - 1)
}

// Unmap unmaps a range and punches it out of the file, which frees its memory even if
// other processes still map it.
func (m *Memfd) Unmap(at Mapping) {
	n := pages(len(at.Bytes))
	unmapMemory(at.Bytes)
	if at.File != nil {
		// It worked when the file was made, and the range is within it.
		_ = punch(int(m.file.Fd()), at.Offset, n)
	}
}

func (m *Memfd) discard(b []byte, of *Mapping) bool {
	if of == nil {
		return discardMemory(b)
	}
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(of.Bytes)))
	return punch(int(m.file.Fd()), of.Offset+int64(at), int64(len(b))) == nil
}

// Location returns the zero Location, the memory of the processor.
func (*Memfd) Location() Location { return Location{} }
