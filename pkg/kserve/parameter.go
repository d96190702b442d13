package kserve

import (
	"fmt"
	"strings"

	"triton/pkg/status"
)

// ParameterKind names the field of a Parameter that holds its value.
type ParameterKind uint8

// The kinds of parameter values.
const (
	ParamBool ParameterKind = iota + 1
	ParamInt
	ParamUint
	ParamDouble
	ParamString
)

// Parameter is one request or response parameter.
type Parameter struct {
	Name   string
	Kind   ParameterKind
	Bool   bool
	Int    int64
	Uint   uint64
	Double float64
	String string
}

// NewParameter returns a parameter whose value is a string, bool, int, int64, uint64 or float64.
func NewParameter(name string, value any) (Parameter, error) {
	p := Parameter{Name: name}
	switch v := value.(type) {
	case bool:
		p.Kind, p.Bool = ParamBool, v
	case int:
		p.Kind, p.Int = ParamInt, int64(v)
	case int64:
		p.Kind, p.Int = ParamInt, v
	case uint64:
		p.Kind, p.Uint = ParamUint, v
	case float64:
		p.Kind, p.Double = ParamDouble, v
	case string:
		p.Kind, p.String = ParamString, v
	default:
		return p, fmt.Errorf("parameter %q: the value is a %T, use string, bool, int, int64, uint64 or float64", name, value)
	}
	return p, nil
}

// Value returns the value: a string, bool, int64, uint64 or float64.
func (p *Parameter) Value() any {
	switch p.Kind {
	case ParamBool:
		return p.Bool
	case ParamInt:
		return p.Int
	case ParamUint:
		return p.Uint
	case ParamDouble:
		return p.Double
	}
	return p.String
}

// maxSequenceID bounds a correlation ID that is a string, in bytes.
const maxSequenceID = 128

// SetSequenceText sets the correlation ID to a string.
func (r *Request) SetSequenceText(id string) error {
	if len(id) > maxSequenceID {
		return status.New(status.Unsupported, "string correlation ID cannot be longer than %d characters", maxSequenceID)
	}
	r.SequenceID, r.SequenceIDStr = 0, id
	return nil
}

// Forward adds a header of the transport to the parameters of the request. It
// refuses the names that the protocol defines. Names are case-sensitive, as in
// Triton.
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
