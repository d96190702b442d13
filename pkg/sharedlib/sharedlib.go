// Package sharedlib opens native libraries that were built to be loaded by Triton's server:
// backends, caches and repository agents. They find the functions of the server in the
// program itself, which exports them; what remains of the dependency on libtritonserver.so
// is a name, and an object with that name and without content satisfies it.
package sharedlib

import (
	"unsafe"

	"triton/pkg/status"
)

// Library is an opened library. It is never closed: libraries leave threads and exit
// handlers behind.
type Library struct {
	path   string
	handle unsafe.Pointer
}

// Path returns the absolute path that the library was opened from.
func (l *Library) Path() string { return l.path }

// Require returns the address of a symbol that the library must define.
func (l *Library) Require(name string) (unsafe.Pointer, error) {
	if p := l.Symbol(name); p != nil {
		return p, nil
	}
	return nil, status.New(status.NotFound, "unable to find required entrypoint '%s' in shared library", name)
}

// failed is the error for a library that does not open. The text is Triton's.
func failed(reason string) error {
	return status.New(status.NotFound, "unable to load shared library: %s", reason)
}
