//go:build cgo && linux

package native

/*
#cgo CFLAGS: -O2 -Wall -fvisibility=hidden
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// open_library returns NULL and a text that the caller frees if the library does not open.
// The loader's error belongs to the thread, so one call opens and reads it.
static void *open_library(const char *path, char **why) {
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		*why = strdup(dlerror());
	}
	return handle;
}
*/
import "C"

import (
	"unsafe"

	"triton/pkg/status"
)

// openLibrary opens a library for good and fills a table of function pointers in C memory with the
// functions of these names.
func openLibrary(path string, names []string, table unsafe.Pointer) error {
	file := C.CString(path)
	defer C.free(unsafe.Pointer(file))
	var why *C.char
	handle := C.open_library(file, &why)
	if handle == nil {
		defer C.free(unsafe.Pointer(why))
		return status.New(status.Unavailable, "unable to load shared library: %s", C.GoString(why))
	}
	functions := make([]unsafe.Pointer, len(names))
	for i, name := range names {
		symbol := C.CString(name)
		functions[i] = C.dlsym(handle, symbol)
		C.free(unsafe.Pointer(symbol))
		if functions[i] == nil {
			return status.New(status.Unavailable, "the library %s has no function %s: use another version of it", path, name)
		}
	}
	copy(unsafe.Slice((*unsafe.Pointer)(table), len(names)), functions)
	return nil
}
