package kserve

import (
	"strings"

	"triton/pkg/status"
)

// Forward makes a header of the transport a parameter of the request. Names
// that the protocol gives a meaning cannot be set that way; they are told apart
// by case, as in Triton.
func (r *Request) Forward(name, value string) error {
	if reserved(name) {
		return status.New(status.InvalidArg, "Header '%s' is reserved for Triton usage and cannot be forwarded.", name)
	}
	r.Parameters = append(r.Parameters, Parameter{Name: name, Kind: ParamString, String: value})
	return nil
}

func reserved(name string) bool {
	switch name {
	case "sequence_id", "sequence_start", "sequence_end", "priority", "timeout", "headers", "binary_data_output":
		return true
	}
	return strings.HasPrefix(name, "triton_")
}
