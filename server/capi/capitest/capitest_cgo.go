//go:build cgo && linux

package capitest

/*
#cgo LDFLAGS: -rdynamic -ldl
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>

typedef char* (*run_fn)(const char*);

static char* run(void* f, const char* argument) { return ((run_fn)f)(argument); }

static size_t in_use(void) {
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
}
*/
import "C"

import (
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Run compiles a file of testdata and calls its function run, which returns the first failure or
// null. include is the folder of the headers.
func Run(t *testing.T, include, source, argument string) {
	t.Helper()
	Open(t, include, source).Call(t, "run", argument)
}

// Library is code of a test that is loaded.
type Library struct{ handle unsafe.Pointer }

// Open compiles a file of testdata and loads it.
func Open(t *testing.T, include, source string) Library {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.so")
	Compile(t, include, source, path, "-Wextra")
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	l := Library{C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)}
	require.NotNil(t, l.handle, "%s", C.GoString(C.dlerror()))
	return l
}

// Call calls a function, which returns the first failure or null.
func (l Library) Call(t *testing.T, function, argument string) {
	t.Helper()
	symbol, text := C.CString(function), C.CString(argument)
	defer C.free(unsafe.Pointer(symbol))
	defer C.free(unsafe.Pointer(text))
	f := C.dlsym(l.handle, symbol)
	require.NotNil(t, f)
	failure := C.run(f, text)
	defer C.free(unsafe.Pointer(failure))
	require.Nil(t, failure, "%s", C.GoString(failure))
}

// Allocated returns the bytes that C code of the process has allocated and not freed.
func Allocated() int { return int(C.in_use()) }
