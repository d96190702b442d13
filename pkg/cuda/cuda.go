// Package cuda opens GPU memory that other processes share with this one by an IPC
// handle, allocates memory to share with others, copies to and from it, and lists the
// driver's devices. It uses the CUDA
// driver library, which it opens at run time: a build without cgo, and a machine
// without driver, have none. Opened memory belongs to the device's primary context,
// which other libraries in this process use too.
package cuda

import "errors"

// ErrNoDriver reports that this machine has no usable CUDA driver, or that the program
// was built without cgo.
var ErrNoDriver = errors.New("no CUDA driver")

// HandleSize is the size of a Handle in bytes.
const HandleSize = 64

// Handle identifies memory that its owner shares: a cudaIpcMemHandle_t, which is the
// driver's CUipcMemHandle too. Its content is the driver's.
type Handle [HandleSize]byte

// ParseHandle returns the handle in b. It reports false unless b has exactly HandleSize
// bytes.
func ParseHandle(b []byte) (h Handle, ok bool) {
	return h, copy(h[:], b) == len(b) && len(b) == HandleSize
}

// Driver opens the memory of other processes. It is safe for concurrent use and lives
// as long as the process. Its errors are the driver's texts.
type Driver interface {
	// Open maps the memory of h on a device, numbered from 0. It fails for
	// memory of this process, of another device, and of an owner that has
	// exited. The same handle may be opened several times.
	Open(device int, h Handle) (Memory, error)
}

// Device is one device of the driver. Which devices there are, and in which order,
// follows from CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER in the environment of the
// process.
type Device struct {
	// UUID is "GPU-" and 16 bytes in hexadecimal, as nvidia-smi writes it. A
	// MIG instance has the UUID of its whole GPU.
	UUID string
	// PCI is "domain:bus:device.function".
	PCI string
}

// Lister is a Driver that lists its devices.
type Lister interface {
	// Devices returns the devices by their ordinal.
	Devices() ([]Device, error)
}

// Allocator is a Driver that allocates memory.
type Allocator interface {
	// Allocate allocates memory on a device, numbered from 0. Other processes open it
	// by its handle.
	Allocate(device int, size uint64) (Memory, Handle, error)
}

// Memory is memory on a device: opened memory of another process, or memory that this
// process allocated. It is safe for concurrent use. The owner may change it at any
// time, and must not free it before the others close it.
type Memory interface {
	// Size returns the number of bytes, counted from the handle's address.
	Size() uint64
	// Read fills dst from the device memory that starts at offset, in bytes.
	Read(dst []byte, offset uint64) error
	// Write copies src to the device memory that starts at offset, in bytes. Other
	// processes see src when it returns.
	Write(src []byte, offset uint64) error
	// Close unmaps the memory, or frees it if this process allocated it. It is the
	// last call.
	Close() error
}
