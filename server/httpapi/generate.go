package httpapi

import "triton/pkg/status"

// generate runs a model on a flat JSON object and answers with one.
func (a *api) generate(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}

// generateStream answers with one server-sent event per response.
func (a *api) generateStream(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}
