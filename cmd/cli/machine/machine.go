// Package machine says what of this machine the program may use: its GPUs, as the environment variables limit them, and
// the libraries that it loads at run time.
package machine

import (
	"errors"

	"triton/cmd/cli/process"
	"triton/pkg/cuda"
	"triton/pkg/gpu"
)

// CPUOnly reports whether TRITON_SERVER_CPU_ONLY forbids the use of GPUs.
func CPUOnly(p process.Process) bool { return p.Getenv("TRITON_SERVER_CPU_ONLY") != "" }

// GPUs returns the GPU settings of the environment. The order of the GPUs comes from
// the CUDA driver d; if d is nil and there are GPUs, the driver is started.
func GPUs(p process.Process, d cuda.Driver) gpu.Environment {
	e := gpu.Environment{Order: p.Getenv("CUDA_DEVICE_ORDER")}
	if visible, ok := p.LookupEnv("CUDA_VISIBLE_DEVICES"); ok {
		e.Visible = &visible
	}
	if !CPUOnly(p) {
		e.CUDA = func() ([]gpu.Identity, error) { return identities(d) }
	}
	return e
}

// identities returns the devices of the CUDA driver by ordinal.
func identities(d cuda.Driver) ([]gpu.Identity, error) {
	if d == nil {
		var err error
		if d, err = cuda.Open(); err != nil {
			return nil, err
		}
	}
	l, ok := d.(cuda.Lister)
	if !ok {
		return nil, errors.New("the CUDA driver does not list its devices")
	}
	devices, err := l.Devices()
	if err != nil {
		return nil, err
	}
	all := make([]gpu.Identity, len(devices))
	for i, one := range devices {
		all[i] = gpu.Identity{UUID: one.UUID, PCI: one.PCI}
	}
	return all, nil
}
