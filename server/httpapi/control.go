package httpapi

import "triton/pkg/status"

// load loads a model, or loads it again.
func (a *api) load(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}

// unload takes a model out of service.
func (a *api) unload(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}
