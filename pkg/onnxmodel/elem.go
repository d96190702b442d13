package onnxmodel

import (
	"fmt"

	"triton/pkg/tensor"
)

// ElemType is ONNX's element type of a tensor, with the numbers of
// TensorProto.DataType.
type ElemType int32

// The element types that the program writes or handles by name. The others are
// known by number and name only.
const (
	Undefined ElemType = 0
	Float     ElemType = 1
	Uint8     ElemType = 2
	Int8      ElemType = 3
	Uint16    ElemType = 4
	Int16     ElemType = 5
	Int32     ElemType = 6
	Int64     ElemType = 7
	String    ElemType = 8
	Bool      ElemType = 9
	Float16   ElemType = 10
	Double    ElemType = 11
	Uint32    ElemType = 12
	Uint64    ElemType = 13
	BFloat16  ElemType = 16
)

var elemTypes = [...]struct {
	name string
	data tensor.DataType
}{
	Undefined: {"UNDEFINED", tensor.Invalid},
	Float:     {"FLOAT", tensor.FP32},
	Uint8:     {"UINT8", tensor.Uint8},
	Int8:      {"INT8", tensor.Int8},
	Uint16:    {"UINT16", tensor.Uint16},
	Int16:     {"INT16", tensor.Int16},
	Int32:     {"INT32", tensor.Int32},
	Int64:     {"INT64", tensor.Int64},
	String:    {"STRING", tensor.Bytes},
	Bool:      {"BOOL", tensor.Bool},
	Float16:   {"FLOAT16", tensor.FP16},
	Double:    {"DOUBLE", tensor.FP64},
	Uint32:    {"UINT32", tensor.Uint32},
	Uint64:    {"UINT64", tensor.Uint64},
	14:        {"COMPLEX64", tensor.Invalid},
	15:        {"COMPLEX128", tensor.Invalid},
	BFloat16:  {"BFLOAT16", tensor.BF16},
	17:        {"FLOAT8E4M3FN", tensor.Invalid},
	18:        {"FLOAT8E4M3FNUZ", tensor.Invalid},
	19:        {"FLOAT8E5M2", tensor.Invalid},
	20:        {"FLOAT8E5M2FNUZ", tensor.Invalid},
	21:        {"UINT4", tensor.Invalid},
	22:        {"INT4", tensor.Invalid},
	23:        {"FLOAT4E2M1", tensor.Invalid},
	24:        {"FLOAT8E8M0", tensor.Invalid},
	25:        {"UINT2", tensor.Invalid},
	26:        {"INT2", tensor.Invalid},
}

// String is ONNX's name of the type, such as "FLOAT16".
func (e ElemType) String() string {
	if e < 0 || int(e) >= len(elemTypes) {
		return fmt.Sprintf("ElemType(%d)", int32(e))
	}
	return elemTypes[e].name
}

// DataType returns the protocol's type of the same elements; tensor.Invalid for the
// types that the protocol lacks.
func (e ElemType) DataType() tensor.DataType {
	if e < 0 || int(e) >= len(elemTypes) {
		return tensor.Invalid
	}
	return elemTypes[e].data
}

// ElemTypeOf returns the ONNX type of the protocol's type d; Undefined for none.
func ElemTypeOf(d tensor.DataType) ElemType {
	if d == tensor.Invalid {
		return Undefined
	}
	for e := range elemTypes {
		if elemTypes[e].data == d {
			return ElemType(e)
		}
	}
	return Undefined
}

// Kind is what sort of value an input or output is.
type Kind uint8

// The kinds of values.
const (
	KindUnknown Kind = iota // the file gives no type
	KindTensor
	KindSequence
	KindMap
	KindOpaque
	KindSparseTensor
	KindOptional
)

var kinds = [...]string{
	KindUnknown:      "ONNX_TYPE_UNKNOWN",
	KindTensor:       "ONNX_TYPE_TENSOR",
	KindSequence:     "ONNX_TYPE_SEQUENCE",
	KindMap:          "ONNX_TYPE_MAP",
	KindOpaque:       "ONNX_TYPE_OPAQUE",
	KindSparseTensor: "ONNX_TYPE_SPARSETENSOR",
	KindOptional:     "ONNX_TYPE_OPTIONAL",
}

// String is ONNX Runtime's name of the kind, such as "ONNX_TYPE_SEQUENCE".
func (k Kind) String() string {
	if int(k) >= len(kinds) {
		k = KindUnknown
	}
	return kinds[k]
}
