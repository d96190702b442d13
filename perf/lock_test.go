package perf

import "os"

// Lock locks a file as a run locks that of its shared memory.
func Lock(f *os.File) error { return lock(f) }
