//go:build !invariants && !race

package invariant

// Enabled says whether this build carries the expensive checks.
const Enabled = false
