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
		v.Data, err = appendElement(v.Data, &flat[i], t.DataType)
		if errors.Is(err, strconv.ErrRange) {
			err = &tensor.RangeError{Element: i, Number: flat[i].text, Type: t.DataType}
		}
		if err != nil {
			return v, elementError(err, i, &flat[i])
		}
	}
	return v, nil
}

// elementError names an element that does not fit the tensor, unless the error does.
func elementError(err error, i int, n *node) error {
	if errors.As(err, new(*tensor.RangeError)) {
		return err
	}
	const shown = 32
	value := appendJSON(nil, n)
	if len(value) > shown {
		value = append(value[:shown], "..."...)
	}
	return fmt.Errorf("%w: element %d is %s", err, i, value)
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

// appendElement encodes one value. A number that the type cannot hold is strconv.ErrRange.
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
	case tensor.Uint8, tensor.Uint16, tensor.Uint32, tensor.Uint64, tensor.Int8, tensor.Int16, tensor.Int32, tensor.Int64:
		u, err := integer(n, d)
		if err != nil {
			return nil, err
		}
		return tensor.AppendUint(b, u, d.Size()), nil
	case tensor.FP16, tensor.BF16, tensor.FP32, tensor.FP64:
		if n.kind != number {
			return nil, fmt.Errorf("unable to find %s data in json", floatNames[d])
		}
		f, _ := strconv.ParseFloat(n.text, 64) // parseJSON has checked the syntax
		if d.Overflows(f) {
			return nil, strconv.ErrRange
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

// integer returns an integer of type d in two's complement.
func integer(n *node, d tensor.DataType) (u uint64, err error) {
	if low, _, _ := d.IntegerRange(); low < 0 || strings.HasPrefix(n.text, "-") {
		var i int64
		if i, err = strconv.ParseInt(n.text, 10, 8*d.Size()); err == nil && i < low {
			err = strconv.ErrRange
		}
		u = uint64(i)
	} else {
		u, err = strconv.ParseUint(n.text, 10, 8*d.Size())
	}
	if n.kind != number || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("unable to find %s_t data in json", strings.ToLower(d.String()))
	}
	return u, err
}
