//go:build !invariants && !race

package invariant

// Enabled reports whether this build carries the expensive checks.
const Enabled = false
