//go:build !unix

package tensor

// Elsewhere the Go heap serves: the collector does not move objects, and the
// native engines that need more are not built for these systems.
func mapMemory(n int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) {}
