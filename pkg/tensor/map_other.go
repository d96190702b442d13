//go:build !unix

package tensor

// mapMemory returns memory of the Go heap: the collector does not move objects, and the
// native libraries that need more are not built for these systems.
func mapMemory(n int) ([]byte, error) { return make([]byte, n), nil }

func unmapMemory([]byte) {}

func discardMemory([]byte) bool { return false }
