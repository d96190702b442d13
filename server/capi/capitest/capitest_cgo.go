//go:build cgo && linux

// Package capitest compiles C code into a library and calls it in the process of a test, whose
// functions of the C API it uses. It is for tests only.
package capitest

/*
#cgo LDFLAGS: -rdynamic -ldl
#include <dlfcn.h>
#include <stdlib.h>

typedef char* (*run_fn)(const char*);

static char* run(void* f, const char* argument) { return ((run_fn)f)(argument); }
*/
import "C"

import (
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Run compiles a file of testdata and calls its function run, which returns the first failure or
// null. include is the folder of the headers.
func Run(t *testing.T, include, source, argument string) {
	t.Helper()
	compiler, err := exec.LookPath("cc")
	if err != nil {
		t.Skipf("the test needs a C compiler: %v", err)
	}
	path := filepath.Join(t.TempDir(), "test.so")
	out, err := exec.CommandContext(t.Context(), compiler, "-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC",
		"-I", include, "-o", path, source, "-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)
	name, symbol, text := C.CString(path), C.CString("run"), C.CString(argument)
	defer C.free(unsafe.Pointer(name))
	defer C.free(unsafe.Pointer(symbol))
	defer C.free(unsafe.Pointer(text))
	library := C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)
	require.NotNil(t, library, "%s", C.GoString(C.dlerror()))
	f := C.dlsym(library, symbol)
	require.NotNil(t, f)
	failure := C.run(f, text)
	defer C.free(unsafe.Pointer(failure))
	require.Nil(t, failure, "%s", C.GoString(failure))
}
