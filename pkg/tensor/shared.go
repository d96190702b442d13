package tensor

import (
	"runtime"
	"runtime/debug"
)

// Foreign is the owner of memory that another process can change or unmap at any time.
type Foreign interface {
	Owner
	Foreign()
}

// Foreign reports whether another process can change the memory.
func (b *Buffer) Foreign() bool {
	_, foreign := b.owner.(Foreign)
	return foreign
}

// Foreign reports whether another process can change a part of the data.
func (d *Data) Foreign() bool {
	for i := range d.Segments() {
		if d.Segment(i).Buffer.Foreign() {
			return true
		}
	}
	return false
}

// Write calls fill to write the bytes of the piece. It reports false if another process
// has taken the memory away: a part of it may be written.
func (s Segment) Write(fill func(mem []byte)) bool {
	if !s.Buffer.Foreign() {
		fill(s.Bytes())
		return true
	}
	return Survives(func() { fill(s.Bytes()) })
}

// CopyShared copies d into dst, one of which is memory that another process can take
// away. It reports false if that happened: a part of the bytes may be copied.
func CopyShared(dst []byte, d *Data) bool {
	return Survives(func() { d.CopyTo(dst) })
}

// TouchShared writes one byte of every page of memory that is about to be written and
// that another process can take away. It reports false if a part of the memory does not
// exist.
func TouchShared(mem []byte) bool {
	return Survives(func() {
		for i := 0; i < len(mem); i += pageBytes {
			mem[i] = 0
		}
		if n := len(mem); n > 0 {
			mem[n-1] = 0
		}
	})
}

// pageBytes is the smallest page of all systems.
const pageBytes = 4096

// Survives runs f and reports whether it returned without a bus error, which memory
// that another process has taken away raises.
func Survives(f func()) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			ok = false
		default:
			panic(fault)
		}
	}()
	f()
	return true
}
