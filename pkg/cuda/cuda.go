// Package cuda opens GPU memory that other processes share with this one by an
// IPC handle, copies to and from it, and tells how the driver counts devices. It uses the CUDA driver library, which
// it opens at run time: a build without cgo, and a machine without driver, have
// none. What is opened belongs to the device's primary context, the one that
// engines in this process use too.
package cuda

import "errors"

// ErrNoDriver says that this machine has no usable CUDA driver, or that the
// program was built without cgo.
var ErrNoDriver = errors.New("no CUDA driver")

// HandleSize is the size of a Handle in bytes.
const HandleSize = 64

// Handle names memory that its owner shares: a cudaIpcMemHandle_t, which is the
// driver's CUipcMemHandle too. Its content is the driver's own.
type Handle [HandleSize]byte

// ParseHandle returns the handle of exactly HandleSize bytes; false otherwise.
func ParseHandle(b []byte) (h Handle, ok bool) {
	return h, copy(h[:], b) == len(b) && len(b) == HandleSize
}

// Driver opens the memory of other processes. It is safe for concurrent use and
// lives as long as the process. Its errors are the driver's texts.
type Driver interface {
	// Open maps the memory that h names on a device, counted from 0. It fails for
	// memory of this very process, of another device, and of an owner who is gone.
	// The same handle may be opened several times.
	Open(device int, h Handle) (Memory, error)
}

// Device is one device of the driver's. CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER,
// which the driver reads in the environment of the process, say which there are and
// in which order.
type Device struct {
	// UUID is "GPU-" and 16 bytes in hexadecimal, as nvidia-smi writes it; that of
	// the whole GPU where the device is a part of one.
	UUID string
	// PCI is "domain:bus:device.function".
	PCI string
}

// Lister is a Driver that tells its devices.
type Lister interface {
	// Devices returns the devices by their ordinal.
	Devices() ([]Device, error)
}

// Memory is opened memory of another process on a device. It is safe for
// concurrent use. The owner may change it at any time, and must not free it
// before Close.
type Memory interface {
	// Size returns how many bytes there are from where the handle points.
	Size() uint64
	// Read copies from the device, beginning at offset in bytes, until dst is full.
	Read(dst []byte, offset uint64) error
	// Write copies to the device, beginning at offset in bytes; src is there for
	// other processes when it returns.
	Write(src []byte, offset uint64) error
	// Close unmaps it. Nothing may use it any more.
	Close() error
}
