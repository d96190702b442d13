//go:build !cgo || !linux

// Package capitest compiles C code into a library and calls it in the process of a test, whose
// functions of the C API it uses. It also reads the description of the API (server/capi/api.txt) and
// writes its headers. It is for tests and go generate only.
package capitest

import "testing"

// Run skips the test.
func Run(t *testing.T, _, _, _ string) {
	t.Helper()
	t.Skip("the C API needs cgo and Linux")
}

// Library does not exist in this build.
type Library struct{}

// Open skips the test.
func Open(t *testing.T, _, _ string) Library {
	t.Helper()
	t.Skip("the C API needs cgo and Linux")
	return Library{}
}

// Call does nothing.
func (Library) Call(*testing.T, string, string) {}

// Allocated returns nothing.
func Allocated() int { return 0 }
