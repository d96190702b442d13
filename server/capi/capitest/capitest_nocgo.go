//go:build !cgo || !linux

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
