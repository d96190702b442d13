package httpapi

import "triton/pkg/status"

// traceSetting reads and changes the trace settings of a model or all.
func (a *api) traceSetting(x *exchange, _ *route) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}

// logSettings reads and changes the log settings.
func (a *api) logSettings(x *exchange) error {
	return status.New(status.Unsupported, "%s is not supported by this server yet", x.path)
}
