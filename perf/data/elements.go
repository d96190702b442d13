package data

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"triton/pkg/tensor"
)

// elements encodes the values of an array. With nestedShape, the nesting of the arrays
// determines the variable dimensions.
func elements(n *node, t Tensor, v Value, nestedShape bool) (Value, error) {
	if t.JSON {
		if len(n.items) != 1 {
			return v, errOneJSON
		}
		v.Data = tensor.AppendElement(v.Data, appendJSON(nil, &n.items[0]))
		return v, nil
	}
	flat, shape, err := flatten(n, nil)
	if err != nil {
		return v, err
	}
	if len(shape) > 1 && nestedShape && dynamic(t.Shape) {
		v.Shape = shape
	}
	for i := range flat {
		if v.Data, err = appendElement(v.Data, &flat[i], t.DataType); err != nil {
			return v, err
		}
	}
	return v, nil
}

// flatten walks nested arrays in row-major order.
func flatten(n *node, into []node) ([]node, tensor.Shape, error) {
	shape := tensor.Shape{int64(len(n.items))}
	if len(n.items) == 0 || n.items[0].kind != array {
		for i := range n.items {
			if n.items[i].kind == array {
				return nil, nil, errRagged
			}
		}
		return append(into, n.items...), shape, nil
	}
	var inner tensor.Shape
	for i := range n.items {
		if n.items[i].kind != array {
			return nil, nil, errRagged
		}
		var sub tensor.Shape
		var err error
		if into, sub, err = flatten(&n.items[i], into); err != nil {
			return nil, nil, err
		}
		if i > 0 && !sub.Equal(inner) {
			return nil, nil, errRagged
		}
		inner = sub
	}
	return into, append(shape, inner...), nil
}

var errOneJSON = errors.New("JSON format does not yet support multiple json objects in the input")

var errRagged = errors.New("nested arrays of a tensor must all have the same length")

func appendElement(b []byte, n *node, d tensor.DataType) ([]byte, error) {
	switch d {
	case tensor.Bool:
		if n.kind != boolean {
			return nil, errors.New("unable to find bool data in json")
		}
		if n.isTrue {
			return append(b, 1), nil
		}
		return append(b, 0), nil
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64:
		u, ok := unsigned(n, max(d.Size(), 4)) // perf_analyzer truncates 32-bit numbers to narrow types
		if !ok {
			return nil, fmt.Errorf("unable to find %s_t data in json", strings.ToLower(d.String()))
		}
		return tensor.AppendUint(b, u, d.Size()), nil
	case tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		i, ok := signed(n, max(d.Size(), 4))
		if !ok {
			return nil, fmt.Errorf("unable to find %s_t data in json", strings.ToLower(d.String()))
		}
		return tensor.AppendUint(b, uint64(i), d.Size()), nil
	case tensor.FP16, tensor.BF16, tensor.FP32, tensor.FP64:
		f, ok := float(n)
		if !ok {
			return nil, fmt.Errorf("unable to find %s data in json", floatNames[d])
		}
		return tensor.AppendFloat(b, f, d), nil
	case tensor.Bytes:
		if n.kind != text {
			return nil, errors.New("unable to find string data in json")
		}
		return tensor.AppendElementString(b, n.text), nil
	}
	return nil, fmt.Errorf("Unexpected type %s", d)
}

var floatNames = map[tensor.DataType]string{tensor.FP16: "fp16", tensor.BF16: "bf16", tensor.FP32: "float", tensor.FP64: "fp64"}

func unsigned(n *node, size int) (uint64, bool) {
	u, err := strconv.ParseUint(n.text, 10, 8*size)
	return u, err == nil && n.kind == number
}

func signed(n *node, size int) (int64, bool) {
	i, err := strconv.ParseInt(n.text, 10, 8*size)
	return i, err == nil && n.kind == number
}

func float(n *node) (float64, bool) {
	f, err := strconv.ParseFloat(n.text, 64)
	return f, n.kind == number && (err == nil || errors.Is(err, strconv.ErrRange))
}
