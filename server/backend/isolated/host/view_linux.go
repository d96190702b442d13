package host

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// The file is mapped in windows of this size. It only grows and no range is used twice, so
// windows that nothing uses are unmapped once there are many.
const (
	windowBytes = 64 << 20
	maxWindows  = 256
)

// view maps the memory file. Windows are read-only: a backend that writes to an input ends
// this child and changes nothing.
type view struct {
	file *os.File

	mu struct {
		sync.Mutex
		windows map[int64]*window // by offset
		clock   uint64
	}
}

// window is a part of the file.
type window struct {
	mem    []byte
	offset int64
	own    bool // for one tensor only
	users  int
	used   uint64 // when it was entered last
}

func newView(file *os.File) *view {
	v := &view{file: file}
	v.mu.windows = map[int64]*window{}
	return v
}

// mapRange maps a range that this process may write to.
func (v *view) mapRange(offset int64, n int) ([]byte, error) {
	mem, err := unix.Mmap(int(v.file.Fd()), offset, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping shared memory: %w", err)
	}
	return mem, nil
}

func (*view) unmapRange(mem []byte) { _ = unix.Munmap(mem) } // the range is from mapRange

// enter returns bytes of the file that stay mapped until leave.
func (v *view) enter(offset int64, n int) (*window, []byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	base := offset &^ (windowBytes - 1)
	if offset+int64(n) > base+windowBytes {
		return v.enterOwn(offset, n)
	}
	w := v.mu.windows[base]
	if w == nil {
		v.evict()
		mem, err := v.mapWindow(base, windowBytes)
		if err != nil {
			return nil, nil, err
		}
		w = &window{mem: mem, offset: base}
		v.mu.windows[base] = w
	}
	w.users++
	v.mu.clock++
	w.used = v.mu.clock
	at := offset - base
	return w, w.mem[at : at+int64(n) : at+int64(n)], nil
}

// enterOwn maps a tensor that is not in one window.
func (v *view) enterOwn(offset int64, n int) (*window, []byte, error) {
	page := int64(os.Getpagesize())
	base := offset &^ (page - 1)
	at := int(offset - base)
	mem, err := v.mapWindow(base, at+n)
	if err != nil {
		return nil, nil, err
	}
	return &window{mem: mem, offset: base, own: true, users: 1}, mem[at : at+n : at+n], nil
}

func (v *view) mapWindow(offset int64, n int) ([]byte, error) {
	mem, err := unix.Mmap(int(v.file.Fd()), offset, n, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping shared memory: %w", err)
	}
	return mem, nil
}

// leave ends the use of bytes that enter has returned.
func (v *view) leave(w *window) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w.users--
	if w.own {
		_ = unix.Munmap(w.mem)
	}
}

// evict unmaps the window that was not used for the longest time, if there are many.
func (v *view) evict() {
	if len(v.mu.windows) < maxWindows {
		return
	}
	var oldest *window
	for _, w := range v.mu.windows {
		if w.users == 0 && (oldest == nil || w.used < oldest.used) {
			oldest = w
		}
	}
	if oldest != nil {
		delete(v.mu.windows, oldest.offset)
		_ = unix.Munmap(oldest.mem)
	}
}
