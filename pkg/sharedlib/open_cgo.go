//go:build cgo && linux

package sharedlib

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "dl.h"
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// plainServer is the name that libraries depend on unless a tool has renamed it.
const plainServer = "libtritonserver.so"

// loader is global because the dynamic loader of the process is.
var loader struct {
	sync.Mutex
	// servers holds the objects that satisfy each name of the server's library.
	servers map[string]unsafe.Pointer
}

// Open opens the library at a path. It refuses a library that needs a function which this
// program does not have, because calling it would end the process.
//
// The initializers of the library run on the calling thread.
func Open(path string) (*Library, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(err.Error())
	}
	n, err := inspect(path)
	if err != nil {
		return nil, err
	}
	loader.Lock()
	defer loader.Unlock()
	for _, name := range append([]string{plainServer}, n.servers...) {
		if err := provide(name); err != nil {
			return nil, failed(fmt.Sprintf("%s: %v", path, err))
		}
	}
	if missing := lacking(n.symbols); len(missing) > 0 {
		return nil, failed(fmt.Sprintf("%s: it was built for another version of the server, and this program lacks the functions it needs: %s", path, strings.Join(missing, ", ")))
	}
	handle, err := open(path, C.TRT_DL_LOCAL)
	if err != nil {
		return nil, failed(err.Error())
	}
	return &Library{path: path, handle: handle}, nil
}

// Symbol returns the address of a symbol that the library or one of its dependencies
// defines; nil if there is none.
func (l *Library) Symbol(name string) unsafe.Pointer {
	return symbol(l.handle, name)
}

// symbol looks a name up in an opened object; nil means the whole program.
func symbol(handle unsafe.Pointer, name string) unsafe.Pointer {
	s := C.CString(name)
	defer C.free(unsafe.Pointer(s))
	return C.trt_dl_symbol(handle, s)
}

func open(path string, mode C.int) (unsafe.Pointer, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	// The error belongs to a thread, so that one call opens and reads it.
	var why *C.char
	handle := C.trt_dl_open(name, mode, &why)
	if handle == nil {
		defer C.free(unsafe.Pointer(why))
		return nil, fmt.Errorf("%s", C.GoString(why)) //nolint:err113 // the text of the loader
	}
	return handle, nil
}

// provide makes sure that a name of the server's library is loaded. If this program is that
// library, opened by another one, its functions are made visible to all.
func provide(name string) error {
	if _, ok := loader.servers[name]; ok {
		return nil
	}
	if loader.servers == nil {
		loader.servers = map[string]unsafe.Pointer{}
		C.trt_dl_publish_self()
	}
	handle, err := open(name, C.TRT_DL_LOADED)
	if err != nil {
		if handle, err = openNamed(name); err != nil {
			return err
		}
	}
	loader.servers[name] = handle
	return nil
}

// openNamed loads an empty object that has the name, from memory.
func openNamed(name string) (unsafe.Pointer, error) {
	// The object has no code, so it loads where memory files must not be executable
	// (vm.memfd_noexec); older systems do not know the flag.
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err != nil {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, fmt.Errorf("make a memory file for %s: %w", name, err)
	}
	if _, err := unix.Write(fd, namedObject(name, machines[runtime.GOARCH])); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("write a memory file for %s: %w", name, err)
	}
	handle, err := open(fmt.Sprintf("/proc/self/fd/%d", fd), C.TRT_DL_GLOBAL)
	if err != nil {
		unix.Close(fd)
	}
	// Otherwise the descriptor stays open: the loader would take another file with the same number
	// for this one.
	return handle, err
}

// lacking returns the functions that neither the program nor an opened server library has.
func lacking(symbols []string) []string {
	var missing []string
	for _, s := range symbols {
		found := symbol(nil, s) != nil
		for _, server := range loader.servers {
			found = found || symbol(server, s) != nil
		}
		if !found {
			missing = append(missing, s)
		}
	}
	slices.Sort(missing)
	return missing
}
