// Package invariant holds checks that are active only in builds with the tag
// "invariants" or with the race detector. It is not for input validation.
package invariant

import "fmt"

// Check panics with the message if the condition is false, in builds with checks.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// Poison overwrites memory that must not be read any more, so that illegal reuse shows
// at once.
func Poison(b []byte) {
	if !Enabled || len(b) == 0 {
		return
	}
	b[0] = 0xDB
	for n := 1; n < len(b); n *= 2 { // copies cost the race detector less than single bytes
		copy(b[n:], b[:n])
	}
}
