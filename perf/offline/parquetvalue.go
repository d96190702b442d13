package offline

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"triton/perf/data"
	"triton/pkg/tensor"
)

// choose finds the columns of the inputs.
func (s *parquetFile) choose(root *parquet.Column) error {
	found := make(rowValues, len(s.inputs))
	for _, c := range root.Columns() {
		i := index(s.inputs, c.Name())
		if i < 0 {
			s.ignored = append(s.ignored, c.Name())
			continue
		}
		leaf := c
		for !leaf.Leaf() {
			if len(leaf.Columns()) != 1 {
				return fmt.Errorf("column %q is a structure of several columns: use single values and lists", c.Name())
			}
			leaf = leaf.Columns()[0]
		}
		if err := accepts(leaf.Type(), s.inputs[i].DataType); err != nil {
			return fmt.Errorf("column %q: %w", c.Name(), err)
		}
		found[i].Data = []byte{}
		s.columns = append(s.columns, column{
			input: i, leaf: leaf.Index(), depth: leaf.MaxRepetitionLevel(), present: leaf.MaxDefinitionLevel(),
			unsigned: isUnsignedColumn(leaf.Type()),
		})
	}
	return found.check(s.inputs)
}

func isUnsignedColumn(t parquet.Type) bool {
	logical := t.LogicalType()
	if logical == nil {
		return false
	}
	integer, ok := logical.Value.(*format.IntType)
	return ok && !integer.IsSigned
}

// accepts reports why a column cannot be converted to a data type.
func accepts(t parquet.Type, want tensor.DataType) error {
	if logical := t.LogicalType(); logical != nil {
		if _, decimal := logical.Value.(*format.DecimalType); decimal {
			return fmt.Errorf("it has the type %s: save it as an integer or a floating point number", t)
		}
	}
	ok := false
	switch t.Kind() {
	case parquet.Boolean:
		ok = want == tensor.Bool
	case parquet.Int32, parquet.Int64:
		ok = want != tensor.Bool && want != tensor.Bytes
	case parquet.Float, parquet.Double:
		ok = isFloat(want)
	case parquet.ByteArray:
		ok = want == tensor.Bytes
	case parquet.FixedLenByteArray:
		ok = want == tensor.Bytes || want == tensor.FP16 && t.Length() == 2
	}
	if !ok {
		return fmt.Errorf("it has the type %s, which is not converted to the input's %s", t, want)
	}
	return nil
}

func isFloat(t tensor.DataType) bool {
	return t == tensor.FP16 || t == tensor.BF16 || t == tensor.FP32 || t == tensor.FP64
}

// decode converts the values of a row. Repetition levels tell the lengths of the lists.
func (c *column) decode(values []parquet.Value, in data.Tensor) (data.Value, error) {
	if len(values) == 1 && values[0].IsNull() {
		switch {
		case values[0].DefinitionLevel() == 0:
			return data.Value{}, nil // the whole value is null
		case c.depth == 0:
			return data.Value{}, errNull
		}
	}
	shape, err := listShape(values, c.depth, c.present)
	if err != nil {
		return data.Value{}, err
	}
	into := make([]byte, 0, max(in.DataType.Size(), 8)*len(values))
	for i := range values {
		if values[i].DefinitionLevel() < c.present {
			continue // an empty list
		}
		if into, err = c.convert(into, &values[i], in.DataType); err != nil {
			return data.Value{}, err
		}
	}
	if shape, err = fit(shape, in.Shape); err != nil {
		return data.Value{}, err
	}
	return data.Value{Shape: shape, Data: into}, nil
}

var errNull = errors.New("an element is null or an empty list")

// listShape returns the lengths of nested lists, which must be equal at each depth. An element
// with a repetition level r continues the list at depth r, and begins one at each depth below.
func listShape(values []parquet.Value, depth, present int) (tensor.Shape, error) {
	shape := make(tensor.Shape, depth)
	if depth == 0 {
		return shape, nil
	}
	if len(values) == 1 && values[0].DefinitionLevel() < present {
		if depth > 1 {
			return nil, errors.New("its lists are empty, so their shape is unknown")
		}
		return shape, nil
	}
	counts := make(tensor.Shape, depth)
	for i := range values {
		if values[i].DefinitionLevel() < present {
			return nil, errNull
		}
		at := values[i].RepetitionLevel() // 0 begins the row
		if i > 0 {
			for d := depth - 1; d >= at; d-- {
				if err := closeList(shape, counts, d); err != nil {
					return nil, err
				}
			}
		}
		for d := max(at-1, 0); d < depth; d++ {
			counts[d]++
		}
	}
	for d := depth - 1; d >= 0; d-- {
		if err := closeList(shape, counts, d); err != nil {
			return nil, err
		}
	}
	return shape, nil
}

// closeList ends a list at depth d, from 0. The first one sets the length of the others.
func closeList(shape, counts tensor.Shape, d int) error {
	if shape[d] != 0 && shape[d] != counts[d] {
		return errRagged
	}
	shape[d], counts[d] = counts[d], 0
	return nil
}

// convert appends a value in a data type, if it is in its range. Numbers are rounded to the
// precision of floating point types.
func (c *column) convert(into []byte, v *parquet.Value, t tensor.DataType) ([]byte, error) {
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return append(into, 1), nil
		}
		return append(into, 0), nil
	case parquet.Int32:
		if c.unsigned {
			return appendUnsigned(into, uint64(v.Uint32()), t)
		}
		return appendSigned(into, int64(v.Int32()), t)
	case parquet.Int64:
		if c.unsigned {
			return appendUnsigned(into, v.Uint64(), t)
		}
		return appendSigned(into, v.Int64(), t)
	case parquet.Float:
		return appendFloat(into, float64(v.Float()), t)
	case parquet.Double:
		return appendFloat(into, v.Double(), t)
	case parquet.FixedLenByteArray:
		if t == tensor.FP16 {
			return append(into, v.ByteArray()...), nil
		}
	}
	return tensor.AppendElement(into, v.ByteArray()), nil
}

func appendSigned(into []byte, v int64, t tensor.DataType) ([]byte, error) {
	low, _, _ := t.IntegerRange()
	switch {
	case isFloat(t):
		return appendFloat(into, float64(v), t)
	case v >= 0:
		return appendUnsigned(into, uint64(v), t)
	case v < low:
		return nil, fmt.Errorf("%d is out of the range of %s", v, t)
	}
	return tensor.AppendUint(into, uint64(v), t.Size()), nil
}

func appendUnsigned(into []byte, v uint64, t tensor.DataType) ([]byte, error) {
	_, high, _ := t.IntegerRange()
	switch {
	case isFloat(t):
		return appendFloat(into, float64(v), t)
	case v > high:
		return nil, fmt.Errorf("%d is out of the range of %s", v, t)
	}
	return tensor.AppendUint(into, v, t.Size()), nil
}

func appendFloat(into []byte, v float64, t tensor.DataType) ([]byte, error) {
	if t.Overflows(v) {
		return nil, fmt.Errorf("%g is out of the range of %s", v, t)
	}
	return tensor.AppendFloat(into, v, t), nil
}
