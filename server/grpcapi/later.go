package grpcapi

import (
	"triton/pkg/status"
)

// The calls that this server does not answer yet.

func unsupported(call string) error {
	return failure(status.New(status.Unsupported, "%s is not supported by this version of the server", call))
}
