package tensor

import (
	"runtime"
	"runtime/debug"
)

// CopyShared copies d into dst when one of them is memory that another process
// can take away. False says that it did: part of the bytes may be copied.
func CopyShared(dst []byte, d *Data) (ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}: // of a bus error
			ok = false
		default:
			panic(fault)
		}
	}()
	d.CopyTo(dst)
	return true
}
