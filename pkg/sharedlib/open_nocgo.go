//go:build !cgo || !linux

package sharedlib

import (
	"unsafe"

	"triton/pkg/status"
)

// Open refuses: this program was built without the ability to open libraries.
func Open(path string) (*Library, error) {
	return nil, status.New(status.Unsupported, "cannot load shared library %s: this program was built without cgo, or for another system than Linux; use the build of a release for Linux", path)
}

// Symbol returns nil: no library opens in this build.
func (l *Library) Symbol(string) unsafe.Pointer { return nil }
