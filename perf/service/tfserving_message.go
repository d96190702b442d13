package service

import (
	"errors"
	"fmt"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

// Field numbers, from the .proto files of TensorFlow and TensorFlow Serving.
const (
	// tensorflow_serving/apis/model.proto: ModelSpec
	specName, specVersion, specSignature, specLabel = 1, 2, 3, 4
	// google/protobuf/wrappers.proto: Int64Value
	int64Value = 1
	// tensorflow_serving/apis/predict.proto: PredictRequest
	predictSpec, predictInputs = 1, 2
	// tensorflow_serving/apis/get_model_metadata.proto: GetModelMetadataRequest
	metadataSpec, metadataField = 1, 2
	// the entries of maps
	entryKey, entryValue = 1, 2
	// tensorflow/core/framework/tensor.proto: TensorProto
	tensorType, tensorShape, tensorContent, tensorStrings = 1, 2, 4, 8
	// tensorflow/core/framework/tensor_shape.proto: TensorShapeProto and Dim
	shapeDim, shapeUnknownRank, dimSize = 2, 3, 1
)

// dataTypes are the numbers of tensorflow/core/framework/types.proto: DataType.
var dataTypes = map[tensor.DataType]uint64{
	tensor.FP32: 1, tensor.FP64: 2, tensor.Int32: 3, tensor.Uint8: 4, tensor.Int16: 5, tensor.Int8: 6,
	tensor.Bytes: 7, tensor.Int64: 9, tensor.Bool: 10, tensor.BF16: 14, tensor.Uint16: 17,
	tensor.FP16: 19, tensor.Uint32: 22, tensor.Uint64: 23,
}

// spec names a model.
type spec struct{ name, version, signature string }

func appendSpec(b []byte, s spec) []byte {
	b = appendText(b, specName, s.name)
	if n, err := strconv.ParseInt(s.version, 10, 64); err == nil {
		value := protowire.AppendVarint(protowire.AppendTag(nil, int64Value, protowire.VarintType), uint64(n))
		b = appendBytes(b, specVersion, value)
	} else if s.version != "" {
		b = appendText(b, specLabel, s.version)
	}
	if s.signature != "" {
		b = appendText(b, specSignature, s.signature)
	}
	return b
}

func appendMetadataRequest(b []byte, s spec) []byte {
	b = appendBytes(b, metadataSpec, appendSpec(nil, s))
	return appendText(b, metadataField, signatureField)
}

func appendPredictRequest(b []byte, s spec, req *kserve.Request) ([]byte, error) {
	b = appendBytes(b, predictSpec, appendSpec(nil, s))
	for i := range req.Inputs {
		in := &req.Inputs[i]
		value, err := appendTensor(nil, in)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", in.Name, err)
		}
		entry := appendText(nil, entryKey, in.Name)
		b = appendBytes(b, predictInputs, appendBytes(entry, entryValue, value))
	}
	return b, nil
}

// appendTensor encodes a TensorProto. Its content has the bytes of all data types except
// strings.
func appendTensor(b []byte, t *kserve.Tensor) ([]byte, error) {
	number, ok := dataTypes[t.DataType]
	if !ok {
		return nil, fmt.Errorf("data type %s is not TensorFlow's", t.DataType)
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, tensorType, protowire.VarintType), number)
	b = appendBytes(b, tensorShape, appendShape(nil, t.Shape))
	if t.DataType != tensor.Bytes {
		b = protowire.AppendVarint(protowire.AppendTag(b, tensorContent, protowire.BytesType), uint64(t.Data.Len()))
		for i := range t.Data.Segments() {
			segment := t.Data.Segment(i)
			b = append(b, segment.Bytes()...)
		}
		return b, nil
	}
	for i := range t.Data.Segments() { // the items of a batch, each with whole elements
		segment := t.Data.Segment(i)
		for element, err := range tensor.Elements(segment.Bytes()) {
			if err != nil {
				return nil, err
			}
			b = appendBytes(b, tensorStrings, element)
		}
	}
	return b, nil
}

func appendShape(b []byte, s tensor.Shape) []byte {
	for _, d := range s {
		dim := protowire.AppendVarint(protowire.AppendTag(nil, dimSize, protowire.VarintType), uint64(d))
		b = appendBytes(b, shapeDim, dim)
	}
	return b
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendBytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

var errMessage = errors.New("the server's answer is not the expected protobuf message")

// eachField calls f for the fields of a message: value for those with a length, number for
// varints.
func eachField(b []byte, f func(field protowire.Number, value []byte, number uint64) error) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		var value []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		default:
			n = protowire.ConsumeFieldValue(field, kind, b)
		}
		if n < 0 {
			return errMessage
		}
		b = b[n:]
		if err := f(field, value, number); err != nil {
			return err
		}
	}
	return nil
}
