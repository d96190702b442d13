// Package invariant holds checks that only builds with the tag "invariants" or
// with the race detector pay for. It is not for input validation.
package invariant

import "fmt"

// Check panics with the message when the condition is false, in builds that
// carry checks.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant broken: " + fmt.Sprintf(format, args...))
	}
}

// Poison overwrites memory that nobody may read any more, so that illegal
// reuse shows at once.
func Poison(b []byte) {
	if !Enabled {
		return
	}
	for i := range b {
		b[i] = 0xDB
	}
}
