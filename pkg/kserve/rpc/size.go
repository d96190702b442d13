package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// fieldSize returns the size of a bytes field of n bytes with its tag and length.
// All field numbers are small, so the tag is one byte.
func fieldSize(n int) int { return 1 + protowire.SizeBytes(n) }

// ResponseSize returns the size of the message on the wire.
func ResponseSize(r *kserve.Response) int {
	n := responseSize(r)
	for i := range r.Outputs {
		n += fieldSize(r.Outputs[i].Data.Len())
	}
	return n
}

func stringSize(s string) int {
	if s == "" {
		return 0
	}
	return fieldSize(len(s))
}

func requestSize(r *kserve.Request) int {
	n := stringSize(r.ModelName) + stringSize(r.ModelVersion) + stringSize(r.ID)
	var own [6]kserve.Parameter
	n += parametersSize(fieldParameters(r, &own)) + parametersSize(r.Parameters)
	for i := range r.Inputs {
		n += fieldSize(tensorSize(&r.Inputs[i]))
	}
	for i := range r.Outputs {
		n += fieldSize(outputSize(&r.Outputs[i]))
	}
	return n
}

func responseSize(r *kserve.Response) int {
	n := stringSize(r.ModelName) + stringSize(r.ModelVersion) + stringSize(r.ID) + parametersSize(r.Parameters)
	for i := range r.Outputs {
		n += fieldSize(tensorSize(&r.Outputs[i]))
	}
	return n
}

func tensorSize(t *kserve.Tensor) int {
	n := stringSize(t.Name)
	if t.DataType != tensor.Invalid {
		n += stringSize(t.DataType.String())
	}
	if len(t.Shape) > 0 {
		n += fieldSize(dimsSize(t.Shape))
	}
	return n
}

func dimsSize(s tensor.Shape) int {
	n := 0
	for _, d := range s {
		n += protowire.SizeVarint(uint64(d))
	}
	return n
}

func outputSize(o *kserve.RequestedOutput) int {
	n := stringSize(o.Name)
	if o.Classification > 0 {
		p := classParameter(o)
		n += fieldSize(entrySize(&p))
	}
	return n
}

func parametersSize(ps []kserve.Parameter) int {
	n := 0
	for i := range ps {
		n += fieldSize(entrySize(&ps[i]))
	}
	return n
}

func entrySize(p *kserve.Parameter) int {
	return fieldSize(len(p.Name)) + fieldSize(valueSize(p))
}

// valueSize returns the size of an InferParameter.
func valueSize(p *kserve.Parameter) int {
	switch p.Kind {
	case kserve.ParamBool:
		return 2
	case kserve.ParamInt:
		return 1 + protowire.SizeVarint(uint64(p.Int))
	case kserve.ParamString:
		return fieldSize(len(p.String))
	case kserve.ParamDouble:
		return 9
	case kserve.ParamUint:
		return 1 + protowire.SizeVarint(p.Uint)
	}
	return 0
}
