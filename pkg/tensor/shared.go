package tensor

import (
	"runtime"
	"runtime/debug"
)

// Foreign is the owner of memory that another process can change or take away at
// any time.
type Foreign interface {
	Owner
	Foreign()
}

// Foreign reports whether another process has its hands on the memory.
func (b *Buffer) Foreign() bool {
	_, foreign := b.owner.(Foreign)
	return foreign
}

// CopyShared copies d into dst when one of them is memory that another process
// can take away. False says that it did: part of the bytes may be copied.
func CopyShared(dst []byte, d *Data) bool {
	return Survives(func() { d.CopyTo(dst) })
}

// TouchShared writes one byte of every page of memory that is about to be
// written and that another process can take away. False says that part of it is
// not there, or has nothing behind it.
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

// Survives reports whether f ran to its end without a bus error, which
// it may get from memory that another process can take away.
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
