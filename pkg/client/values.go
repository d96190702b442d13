package client

import (
	"encoding/binary"
	"errors"
	"fmt"

	"triton/pkg/tensor"
)

var errNoTensor = errors.New("there is no such tensor")

// Number is a Go type with a data type of the protocol.
type Number interface {
	bool | uint8 | uint16 | uint32 | uint64 | int8 | int16 | int32 | int64 | float32 | float64
}

// datatypeOf returns the protocol's name of T.
func datatypeOf[T Number]() string {
	switch any(*new(T)).(type) {
	case bool:
		return "BOOL"
	case uint8:
		return "UINT8"
	case uint16:
		return "UINT16"
	case uint32:
		return "UINT32"
	case uint64:
		return "UINT64"
	case int8:
		return "INT8"
	case int16:
		return "INT16"
	case int32:
		return "INT32"
	case int64:
		return "INT64"
	case float32:
		return "FP32"
	}
	return "FP64"
}

// NewTensor returns a tensor of numbers with the data type of T.
func NewTensor[T Number](name string, shape []int64, values ...T) Tensor {
	data, err := binary.Append(nil, binary.LittleEndian, values)
	if err != nil {
		panic(fmt.Sprintf("client: %v", err)) // every Number has a fixed size
	}
	return Tensor{Name: name, Datatype: datatypeOf[T](), Shape: shape, Data: data}
}

// NewStrings returns a tensor of strings.
func NewStrings(name string, shape []int64, values ...string) Tensor {
	var data []byte
	for _, v := range values {
		data = tensor.AppendElementString(data, v)
	}
	return Tensor{Name: name, Datatype: "BYTES", Shape: shape, Data: data}
}

// Values returns the numbers of a tensor, which must have the data type of T.
func Values[T Number](t *Tensor) ([]T, error) {
	if t == nil {
		return nil, errNoTensor
	}
	if want := datatypeOf[T](); t.Datatype != want {
		return nil, fmt.Errorf("tensor %q has the type %s, not %s", t.Name, t.Datatype, want)
	}
	size := binary.Size(*new(T))
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor %q: %d bytes are no multiple of %d", t.Name, len(t.Data), size)
	}
	values := make([]T, len(t.Data)/size)
	if _, err := binary.Decode(t.Data, binary.LittleEndian, values); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return values, nil
}

// Strings returns the elements of a tensor of strings.
func Strings(t *Tensor) ([]string, error) {
	if t == nil {
		return nil, errNoTensor
	}
	if t.Datatype != "BYTES" {
		return nil, fmt.Errorf("tensor %q has the type %s, not BYTES", t.Name, t.Datatype)
	}
	var values []string
	for element, err := range tensor.Elements(t.Data) {
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		values = append(values, string(element))
	}
	return values, nil
}
