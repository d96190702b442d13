package tensor

import "os"

// Source provides the memory of a pool. It is safe for concurrent use.
type Source interface {
	// Map returns n bytes, all zero and page-aligned.
	Map(n int) (Mapping, error)
	// Unmap returns memory to the system.
	Unmap(m Mapping)
	// Location returns the location of all memory of the source.
	Location() Location
}

// Mapping is one piece of memory of a Source.
type Mapping struct {
	Bytes []byte
	// File holds the bytes at Offset, for other processes to map. Nil means
	// private memory.
	File   *os.File
	Offset int64
}

// Anonymous is the source of private memory.
type Anonymous struct{}

var _ Source = Anonymous{}

// Map maps anonymous memory.
func (Anonymous) Map(n int) (Mapping, error) {
	mem, err := mapMemory(n)
	return Mapping{Bytes: mem}, err
}

// Unmap unmaps it.
func (Anonymous) Unmap(m Mapping) { unmapMemory(m.Bytes) }

func (Anonymous) discard(b []byte, _ *Mapping) bool { return discardMemory(b) }

// Location returns the zero Location, the memory of the processor.
func (Anonymous) Location() Location { return Location{} }
