//go:build linux && cgo

package nvml

import (
	"sync"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Load returns the library of this machine. It is opened by Init.
func Load() (Library, error) { return newLibrary(nvml.New()), nil }

// library adapts go-nvml. Calling a function that the installed library lacks would end the
// program, so those that some driver of the last ten years lacks are looked up first.
type library struct {
	lib     nvml.Interface
	symbols sync.Map // name -> bool
}

var _ Library = (*library)(nil)

func newLibrary(lib nvml.Interface) *library { return &library{lib: lib} }

func (l *library) has(symbol string) bool {
	if known, ok := l.symbols.Load(symbol); ok {
		return known.(bool)
	}
	found := l.lib.Extensions().LookupSymbol(symbol) == nil
	l.symbols.Store(symbol, found)
	return found
}

func (l *library) Init() Return     { return Return(l.lib.Init()) }
func (l *library) Shutdown() Return { return Return(l.lib.Shutdown()) }

func (l *library) DriverVersion() (string, Return) {
	return result(l.lib.SystemGetDriverVersion())
}

func (l *library) NVMLVersion() (string, Return) { return result(l.lib.SystemGetNVMLVersion()) }

func (l *library) CUDAVersion() (int, Return) {
	if !l.has("nvmlSystemGetCudaDriverVersion_v2") {
		return 0, FunctionNotFound
	}
	return result(l.lib.SystemGetCudaDriverVersion_v2())
}

func (l *library) DeviceCount() (int, Return) { return result(l.lib.DeviceGetCount()) }

func (l *library) Device(index int) (Device, Return) {
	return l.device(l.lib.DeviceGetHandleByIndex(index))
}

func (l *library) ProcessName(pid int) (string, Return) {
	return result(l.lib.SystemGetProcessName(pid))
}

func (l *library) device(d nvml.Device, ret nvml.Return) (Device, Return) {
	if ret != nvml.SUCCESS {
		return nil, Return(ret)
	}
	return device{d, l}, Success
}

func result[T any](v T, ret nvml.Return) (T, Return) { return v, Return(ret) }
