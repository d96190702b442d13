package builtin

import (
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// expectation checks what a backend requires of a configuration; err is the first
// mistake.
type expectation struct{ err error }

// value is an input or an output.
type value interface {
	GetName() string
	GetDataType() inferencepb.DataType
	GetDims() []int64
}

func (e *expectation) fail(format string, args ...any) {
	if e.err == nil {
		e.err = status.New(status.InvalidArg, format, args...)
	}
}

func (e *expectation) name(place, want string, v value) {
	if v.GetName() != want {
		e.fail("expected %s tensor name to be %s, got %s", place, want, v.GetName())
	}
}

func (e *expectation) single(name string, v value) {
	if shape := tensor.Shape(v.GetDims()); !shape.Equal(tensor.Shape{1}) {
		e.fail("expected %s shape to be [1], got %s", name, shape)
	}
}

func (e *expectation) dataType(name, want string, v value) {
	if got := v.GetDataType().String(); strings.TrimPrefix(got, "TYPE_") != want {
		e.fail("expected %s datatype to be %s, got %s", name, want, got)
	}
}

// oneOrTwo checks for one input and one or two outputs.
func (e *expectation) oneOrTwo(ins []*inferencepb.ModelInput, outs []*inferencepb.ModelOutput) {
	if len(ins) != 1 {
		e.fail("expected 1 input, got %d", len(ins))
	}
	if len(outs) < 1 || len(outs) > 2 {
		e.fail("expected 1 or 2 outputs, got %d", len(outs))
	}
}
