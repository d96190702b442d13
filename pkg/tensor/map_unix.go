//go:build unix

package tensor

import "golang.org/x/sys/unix"

func mapMemory(n int) ([]byte, error) {
	return unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
}

func unmapMemory(mem []byte) {
	// Only a wrong address can fail here, and mem came from mapMemory.
	_ = unix.Munmap(mem)
}

// discardMemory gives back the memory of whole pages of private memory, which read as zeros or as
// what they were afterwards.
func discardMemory(mem []byte) bool { return unix.Madvise(mem, unix.MADV_DONTNEED) == nil }
