//go:build amd64 || arm64

package shm

import (
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A client can shrink an object while it is mapped here. Whoever touches the missing pages
// then gets SIGBUS, which ends the process: Go code, or a thread of a backend in C that Go
// cannot recover. So the first mapping installs a handler, onSIGBUS, in front of Go's. For an
// address in a mapping of the table it marks the mapping as lost and puts zeros in its place,
// and the access is repeated. Every other signal goes on to Go's handler. It is written in
// assembly because it runs on threads without Go's state, also in builds without cgo.

// maxMappings is the number of regions that can be registered at once.
const maxMappings = 1 << 14

// guarded is an entry of the table. onSIGBUS reads it without a lock: size is 0 while start
// changes.
type guarded struct {
	start uintptr
	size  uintptr
	lost  uint32
	_     uint32
}

// The variables that onSIGBUS uses.
var (
	mappings  [maxMappings]guarded
	mapped    int64   // entries that were ever used
	previous  uintptr //nolint:unused // Go's handler, for onSIGBUS
	onSIGBUSP uintptr // the address of onSIGBUS
)

var guards struct {
	sync.Mutex
	installed bool
	free      []*guarded
}

var (
	errHandler     = errors.New("the handler of SIGBUS cannot be installed")
	errTooManyMaps = errors.New("too many shared memory regions are registered")
)

// guard enters a mapping into the table.
func guard(mem []byte) (*guarded, error) {
	guards.Lock()
	defer guards.Unlock()
	if !guards.installed {
		if err := install(); err != nil {
			return nil, err
		}
		guards.installed = true
	}
	var g *guarded
	switch n := len(guards.free); {
	case n > 0:
		g, guards.free = guards.free[n-1], guards.free[:n-1]
	case mapped < maxMappings:
		g = &mappings[mapped]
		atomic.AddInt64(&mapped, 1)
	default:
		return nil, errTooManyMaps
	}
	page := uintptr(os.Getpagesize())
	atomic.StoreUint32(&g.lost, 0)
	atomic.StoreUintptr(&g.start, uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	atomic.StoreUintptr(&g.size, (uintptr(len(mem))+page-1)&^(page-1))
	return g, nil
}

// isLost reports whether a part of the mapping was missing when it was used.
func (g *guarded) isLost() bool { return atomic.LoadUint32(&g.lost) != 0 }

// release removes a mapping that nothing uses any more.
func (g *guarded) release() {
	atomic.StoreUintptr(&g.size, 0)
	guards.Lock()
	defer guards.Unlock()
	guards.free = append(guards.free, g)
}

// sigaction is the kernel's struct of both architectures.
type sigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

// install puts onSIGBUS in front of the handler that Go has installed. The flags of Go's
// handler stay: among them are SA_SIGINFO and SA_ONSTACK.
func install() error {
	var a sigaction
	if err := rtSigaction(nil, &a); err != nil {
		return err
	}
	if a.handler <= 1 || a.flags&saSiginfo == 0 { // SIG_DFL or SIG_IGN
		return errHandler
	}
	previous = a.handler
	a.handler = onSIGBUSP
	return rtSigaction(&a, nil)
}

const saSiginfo = 4

func rtSigaction(set, old *sigaction) error {
	if _, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGBUS),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), unsafe.Sizeof(set.mask), 0, 0); errno != 0 {
		return errors.Join(errHandler, errno)
	}
	return nil
}
