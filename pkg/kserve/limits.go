package kserve

import "triton/pkg/status"

// The limits of requests, over HTTP and gRPC alike. Names and lists are kept in memory beside the
// bytes of the message, some of them in several copies, so a message that exceeds a limit is
// refused while it is read. They are far above what models have.
const (
	// MaxName limits the bytes of the name of a model, a version, a tensor, a parameter, a data
	// type and a region of shared memory.
	MaxName = 4 << 10
	// MaxID limits the bytes of a request's ID, which its response repeats.
	MaxID = 64 << 10
	// MaxText limits the bytes of the value of a string parameter.
	MaxText = 1 << 20
	// MaxElements limits the parameters, inputs and requested outputs of a request.
	MaxElements = 1 << 16
	// MaxDims limits the dimensions of a tensor.
	MaxDims = 1 << 10
)

// CheckLength returns an error if something of n bytes, such as "request ID", exceeds its limit.
func CheckLength(what string, n, limit int) error {
	if n <= limit {
		return nil
	}
	return status.New(status.InvalidArg, "the %s has %d bytes, at most %d are possible", what, n, limit)
}

// CheckCount returns an error if a request has more than MaxElements of something, such as "inputs".
func CheckCount(what string, n int) error {
	if n <= MaxElements {
		return nil
	}
	return status.New(status.InvalidArg, "the request has more than %d %s", MaxElements, what)
}

// CheckDims returns an error if a tensor has more than MaxDims dimensions.
func CheckDims(n int) error {
	if n <= MaxDims {
		return nil
	}
	return status.New(status.InvalidArg, "a tensor of the request has more than %d dimensions", MaxDims)
}
