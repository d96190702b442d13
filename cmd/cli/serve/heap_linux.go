package serve

import (
	"os"

	"golang.org/x/sys/unix"
)

// untouch gives the pages of an allocation that is all zeros back to the system. Where a part of it
// was used before, the allocator has written the zeros, in half of all starts here: then the
// allocation takes memory. Pages that are read later are zero again.
func untouch(zeros []byte) {
	page := os.Getpagesize()
	// The allocator aligns large allocations; anything else fails and changes nothing.
	_ = unix.Madvise(zeros[:len(zeros)/page*page], unix.MADV_DONTNEED)
}
