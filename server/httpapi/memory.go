package httpapi

import "triton/pkg/status"

// systemMemory lists, registers and unregisters system shared memory.
func (a *api) systemMemory(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}

// cudaMemory is the same for CUDA shared memory.
func (a *api) cudaMemory(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}
