package cli

import (
	"errors"
	"fmt"

	"triton/pkg/cuda"
	"triton/pkg/gpu"
	"triton/server"
)

// openCUDA is the GPUs whose memory clients may register; nil when they may not,
// or there are none.
func openCUDA(w World, opts *server.Options) cuda.Driver {
	if !opts.ClientMemory || w.Getenv("TRITON_SERVER_CPU_ONLY") != "" {
		return nil
	}
	d, err := cuda.Open()
	if err != nil {
		opts.Log.Info(fmt.Sprintf("CUDA shared memory cannot be registered: %s", err))
		return nil
	}
	return d
}

// gpuEnvironment is what the environment says about GPUs. The CUDA driver knows
// their order; it is started when d is nil and there are GPUs.
func gpuEnvironment(w World, d cuda.Driver) gpu.Environment {
	e := gpu.Environment{Order: w.Getenv("CUDA_DEVICE_ORDER")}
	if visible, ok := w.lookup("CUDA_VISIBLE_DEVICES"); ok {
		e.Visible = &visible
	}
	if w.Getenv("TRITON_SERVER_CPU_ONLY") == "" {
		e.CUDA = func() ([]gpu.Identity, error) { return identities(d) }
	}
	return e
}

// identities are the devices of the CUDA driver by ordinal.
func identities(d cuda.Driver) ([]gpu.Identity, error) {
	if d == nil {
		var err error
		if d, err = cuda.Open(); err != nil {
			return nil, err
		}
	}
	l, ok := d.(cuda.Lister)
	if !ok {
		return nil, errors.New("the CUDA driver does not tell its devices")
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
