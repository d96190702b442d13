package service

import (
	"fmt"
	"sort"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// signatureField is the metadata that holds the signatures.
const signatureField = "signature_def"

// Field numbers, from the .proto files of TensorFlow and TensorFlow Serving.
const (
	// tensorflow_serving/apis/get_model_metadata.proto: GetModelMetadataResponse
	replyMetadata = 2
	// google/protobuf/any.proto: Any
	anyValue = 2
	// tensorflow_serving/apis/get_model_metadata.proto: SignatureDefMap
	signatures = 1
	// tensorflow/core/protobuf/meta_graph.proto: SignatureDef and TensorInfo
	signatureInputs, infoType, infoShape = 1, 2, 3
)

// inputInfo is one input of a signature.
type inputInfo struct {
	name        string
	dataType    uint64
	shape       tensor.Shape
	unknownRank bool
}

// readInputs returns the inputs of a signature, ordered by name.
func readInputs(reply []byte, signature string) ([]inputInfo, error) {
	metadata, err := lookUp(reply, replyMetadata, signatureField)
	if err != nil {
		return nil, err
	}
	var all []byte
	err = eachField(metadata, func(field protowire.Number, value []byte, _ uint64) error {
		if field == anyValue {
			all = value
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found, err := lookUp(all, signatures, signature)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, fmt.Errorf("Failed to find signature_name %q in the metadata", signature)
	}
	var inputs []inputInfo
	err = eachEntry(found, signatureInputs, func(name string, info []byte) error {
		in, err := readInfo(info)
		in.name = name
		inputs = append(inputs, in)
		return err
	})
	sort.Slice(inputs, func(i, j int) bool { return inputs[i].name < inputs[j].name })
	return inputs, err
}

// lookUp returns the value of a key in a map, which is a field of a message; nil if it is not
// there.
func lookUp(message []byte, field protowire.Number, key string) (found []byte, err error) {
	err = eachEntry(message, field, func(name string, value []byte) error {
		if name == key {
			found = append([]byte{}, value...)
		}
		return nil
	})
	return found, err
}

// eachEntry calls f for the entries of a map.
func eachEntry(message []byte, of protowire.Number, f func(key string, value []byte) error) error {
	return eachField(message, func(field protowire.Number, entry []byte, _ uint64) error {
		if field != of {
			return nil
		}
		var key string
		var value []byte
		err := eachField(entry, func(field protowire.Number, b []byte, _ uint64) error {
			switch field {
			case entryKey:
				key = string(b)
			case entryValue:
				value = b
			}
			return nil
		})
		if err != nil {
			return err
		}
		return f(key, value)
	})
}

func readInfo(info []byte) (inputInfo, error) {
	in := inputInfo{}
	err := eachField(info, func(field protowire.Number, value []byte, number uint64) error {
		switch field {
		case infoType:
			in.dataType = number
		case infoShape:
			return in.readShape(value)
		}
		return nil
	})
	return in, err
}

func (in *inputInfo) readShape(b []byte) error {
	return eachField(b, func(field protowire.Number, value []byte, number uint64) error {
		switch field {
		case shapeUnknownRank:
			in.unknownRank = number != 0
		case shapeDim:
			size := int64(0)
			err := eachField(value, func(field protowire.Number, _ []byte, number uint64) error {
				if field == dimSize {
					size = int64(number)
				}
				return nil
			})
			in.shape = append(in.shape, size)
			return err
		}
		return nil
	})
}

// describe returns the input as perf knows it. With batching its first dimension is that of
// the batch. An input of unknown rank has one variable dimension, so that --shape replaces it.
func (in inputInfo) describe(batching bool) (data.Tensor, error) {
	t := data.Tensor{Name: in.name, Shape: in.shape}
	for d, number := range dataTypes {
		if number == in.dataType {
			t.DataType = d
		}
	}
	switch {
	case t.DataType == tensor.Invalid:
		return t, fmt.Errorf("unsupported datatype encountered %d in input %s", in.dataType, in.name)
	case in.unknownRank && batching:
		return t, fmt.Errorf("Can not specify -b flag for saved model with unknown ranked inputs")
	case in.unknownRank:
		t.Shape = tensor.Shape{-1}
	case batching && (len(in.shape) == 0 || in.shape[0] != -1):
		return t, fmt.Errorf("Can not specify -b flag for saved model with input not having their first dim as -1")
	case batching:
		t.Shape = in.shape[1:]
	}
	return t, nil
}
