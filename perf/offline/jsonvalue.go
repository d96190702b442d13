package offline

import (
	"encoding/base64"
	"errors"
	"fmt"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// value decodes the value of an input: nested arrays, a single element, or an object with the
// bytes of a tensor, {"b64": "...", "shape": [2, 3]}.
func (d *decoder) value(in data.Tensor) (data.Value, error) {
	if d.json.Is('{') && in.DataType != tensor.Bytes {
		return d.packed(in)
	}
	d.shape = d.shape[:0]
	content, err := d.elements(make([]byte, 0, estimate(in)), in.DataType, 0)
	if err != nil {
		return data.Value{}, err
	}
	shape, err := fit(d.shape, in.Shape)
	if err != nil {
		return data.Value{}, err
	}
	return data.Value{Shape: shape.Clone(), Data: content}, nil
}

// estimate returns the size of an input whose dimensions are all known.
func estimate(in data.Tensor) int {
	n, err := in.Shape.ByteSize(in.DataType)
	if err != nil || n > maxLine {
		return 0
	}
	return int(n)
}

// maxRank bounds the nesting of arrays.
const maxRank = 32

var errRagged = errors.New("nested arrays must all have the same length")

// elements appends the elements of nested arrays in row-major order. The first array of each
// depth sets d.shape, which all others must have.
func (d *decoder) elements(into []byte, t tensor.DataType, depth int) ([]byte, error) {
	if !d.json.Is('[') {
		if depth < len(d.shape) {
			return nil, errRagged
		}
		return d.element(into, t)
	}
	if depth >= maxRank {
		return nil, fmt.Errorf("arrays are nested more than %d times", maxRank)
	}
	known := depth < len(d.shape)
	if !known {
		d.shape = append(d.shape, 0)
	}
	n := int64(0)
	d.json.Enter()
	for first := true; ; first = false {
		if more, _ := d.json.Element(first); !more {
			break
		}
		// Where the first element was no array, none may be, and the other way round.
		if (known || n > 0) && d.json.Is('[') != (depth+1 < len(d.shape)) {
			return nil, errRagged
		}
		var err error
		if into, err = d.elements(into, t, depth+1); err != nil {
			return nil, err
		}
		n++
	}
	if known && d.shape[depth] != n {
		return nil, errRagged
	}
	d.shape[depth] = n
	return into, nil
}

// element appends one element.
func (d *decoder) element(into []byte, t tensor.DataType) ([]byte, error) {
	switch t {
	case tensor.Bool:
		v, err := d.json.Bool()
		if err != nil {
			return nil, errors.New("an element is neither true nor false")
		}
		if v {
			return append(into, 1), nil
		}
		return append(into, 0), nil
	case tensor.Bytes:
		return d.text(into)
	}
	if low, high, ok := t.IntegerRange(); ok {
		v, err := d.json.IntBetween(low, high)
		if err != nil {
			return nil, d.noNumber(t)
		}
		return tensor.AppendUint(into, v, t.Size()), nil
	}
	v, err := d.json.Float64()
	if err != nil || t.Overflows(v) {
		return nil, d.noNumber(t)
	}
	return tensor.AppendFloat(into, v, t), nil
}

func (d *decoder) noNumber(t tensor.DataType) error {
	return fmt.Errorf("an element is no number of the type %s", t)
}

// text appends an element of BYTES: a string, or {"b64": "..."} for bytes that are no text.
func (d *decoder) text(into []byte) ([]byte, error) {
	if d.json.Is('{') {
		content, _, err := d.object()
		if err != nil {
			return nil, err
		}
		return tensor.AppendElement(into, content), nil
	}
	s, err := d.json.Text()
	if err != nil {
		return nil, errors.New(`an element is neither a string nor {"b64": "..."}`)
	}
	return tensor.AppendElement(into, s), nil
}

// packed decodes {"b64": "...", "shape": [2, 3]}, the little-endian bytes of a tensor.
func (d *decoder) packed(in data.Tensor) (data.Value, error) {
	content, shape, err := d.object()
	if err != nil {
		return data.Value{}, err
	}
	size := in.DataType.Size()
	if len(content)%size != 0 {
		return data.Value{}, fmt.Errorf("its %d bytes are no multiple of the %d bytes of an element", len(content), size)
	}
	if shape == nil {
		shape = tensor.Shape{int64(len(content) / size)}
	}
	if want, err := shape.ByteSize(in.DataType); err != nil || want != int64(len(content)) {
		return data.Value{}, fmt.Errorf("it has %d bytes, its shape %s of %s needs another number", len(content), shape, in.DataType)
	}
	if shape, err = fit(shape, in.Shape); err != nil {
		return data.Value{}, err
	}
	return data.Value{Shape: shape, Data: content}, nil
}

// object decodes an object with the members b64 and, optionally, shape.
func (d *decoder) object() (content []byte, shape tensor.Shape, err error) {
	start := d.json.Pos()
	d.json.Skip(0)
	end := d.json.Pos()
	defer func() { d.json.Seek(end) }()
	if !d.json.Find(start, "b64") {
		return nil, nil, errors.New(`an object needs the member "b64"`)
	}
	text, err := d.json.Text()
	if err != nil {
		return nil, nil, errors.New(`"b64" is no string`)
	}
	content = make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(content, text)
	if err != nil {
		return nil, nil, fmt.Errorf(`"b64" is not base64: %w`, err)
	}
	content = content[:n]
	if !d.json.Find(start, "shape") {
		return content, nil, nil
	}
	if !d.json.Is('[') {
		return nil, nil, errShape
	}
	shape = tensor.Shape{}
	d.json.Enter()
	for first := true; ; first = false {
		if more, _ := d.json.Element(first); !more {
			return content, shape, nil
		}
		dim, err := d.json.Int()
		if err != nil || dim < 0 || len(shape) == maxRank {
			return nil, nil, errShape
		}
		shape = append(shape, dim)
	}
}

var errShape = errors.New(`"shape" is no array of dimensions`)
