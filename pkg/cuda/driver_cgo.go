//go:build linux && cgo

package cuda

/*
#cgo CFLAGS: -O2 -Wall
#cgo LDFLAGS: -ldl
#cgo noescape trt_cuda_read
#cgo nocallback trt_cuda_read
#cgo noescape trt_cuda_write
#cgo nocallback trt_cuda_write
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"math"
	"unsafe"
)

// Open starts the driver of this machine. It returns ErrNoDriver if it has none, or no
// device.
func Open() (Driver, error) { return open("libcuda.so.1") }

// driver implements Driver over the library. Memory keeps its address.
type driver struct {
	api   C.trt_cuda
	count int // of devices
}

var (
	_ Lister    = (*driver)(nil)
	_ Allocator = (*driver)(nil)
)

// open is Open for the library at a path.
func open(path string) (Driver, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	d := &driver{}
	if why := C.trt_cuda_load(&d.api, name); why != nil {
		defer C.free(unsafe.Pointer(why))
		return nil, fmt.Errorf("%w: %s", ErrNoDriver, C.GoString(why))
	}
	var devices C.int
	if err := d.check(C.trt_cuda_start(&d.api, &devices)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDriver, err)
	}
	if devices == 0 {
		return nil, fmt.Errorf("%w: there is no device", ErrNoDriver)
	}
	d.count = int(devices)
	return d, nil
}

// check converts a result of the driver to an error.
func (d *driver) check(result C.int) error {
	if result == 0 {
		return nil
	}
	if text := C.trt_cuda_text(&d.api, result); text != nil {
		return errors.New(C.GoString(text))
	}
	return fmt.Errorf("CUDA error %d", int(result))
}

// pciBytes is the size of a buffer for the text of a bus address.
const pciBytes = 32

func (d *driver) Devices() ([]Device, error) {
	var all []Device
	for i := range d.count {
		var uuid [16]C.uchar
		var pci [pciBytes]C.char
		if err := d.check(C.trt_cuda_identity(&d.api, C.int(i), &uuid[0], &pci[0], pciBytes-1)); err != nil {
			return nil, fmt.Errorf("identify CUDA device %d: %w", i, err)
		}
		b := C.GoBytes(unsafe.Pointer(&uuid[0]), C.int(len(uuid)))
		all = append(all, Device{
			UUID: fmt.Sprintf("GPU-%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:]),
			PCI:  C.GoString(&pci[0]),
		})
	}
	return all, nil
}

func (d *driver) Open(device int, h Handle) (Memory, error) {
	if device < 0 || device > math.MaxInt32 {
		return nil, errors.New("invalid device ordinal")
	}
	m := &memory{driver: d}
	if err := d.check(C.trt_cuda_open(&d.api, C.int(device), unsafe.Pointer(&h), &m.region)); err != nil {
		return nil, err
	}
	return m, nil
}

func (d *driver) Allocate(device int, size uint64) (Memory, Handle, error) {
	var h Handle
	if device < 0 || device > math.MaxInt32 {
		return nil, h, errors.New("invalid device ordinal")
	}
	m := &memory{driver: d, own: true}
	if err := d.check(C.trt_cuda_allocate(&d.api, C.int(device), C.uint64_t(size), unsafe.Pointer(&h), &m.region)); err != nil {
		return nil, h, err
	}
	return m, h, nil
}

// memory implements Memory.
type memory struct {
	driver *driver
	region C.trt_cuda_memory
	own    bool // allocated by this process
}

func (m *memory) Size() uint64 { return uint64(m.region.size) }

func (m *memory) Read(dst []byte, offset uint64) error {
	if err := m.checkBounds(offset, len(dst)); err != nil || len(dst) == 0 {
		return err
	}
	return m.driver.check(C.trt_cuda_read(&m.driver.api, &m.region,
		unsafe.Pointer(unsafe.SliceData(dst)), C.uint64_t(offset), C.size_t(len(dst))))
}

func (m *memory) Write(src []byte, offset uint64) error {
	if err := m.checkBounds(offset, len(src)); err != nil || len(src) == 0 {
		return err
	}
	return m.driver.check(C.trt_cuda_write(&m.driver.api, &m.region,
		C.uint64_t(offset), unsafe.Pointer(unsafe.SliceData(src)), C.size_t(len(src))))
}

func (m *memory) Close() error {
	if m.own {
		return m.driver.check(C.trt_cuda_free(&m.driver.api, &m.region))
	}
	return m.driver.check(C.trt_cuda_close(&m.driver.api, &m.region))
}

var errOutside = errors.New("copy outside of the memory")

// checkBounds returns an error for a copy outside of the memory, which the driver would
// not detect.
func (m *memory) checkBounds(offset uint64, n int) error {
	if offset > m.Size() || uint64(n) > m.Size()-offset {
		return errOutside
	}
	return nil
}
