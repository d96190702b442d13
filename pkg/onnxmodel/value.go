package onnxmodel

// value appends one graph input or output to list.
func (d *decoder) value(f field, what string, list []Value) ([]Value, error) {
	var v Value
	err := d.nested(f, what, len(list), func(f field) (err error) {
		switch {
		case f.num == 1 && f.message():
			v.Name, err = d.name(f, "name")
		case f.num == 2 && f.message():
			err = d.nested(f, "type", -1, func(f field) error { return d.valueType(f, &v) })
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return append(list, v), d.keep(f, 128)
}

// kindOf returns the kind of a member of TypeProto's oneof; KindUnknown for other
// fields.
func kindOf(f field) Kind {
	if !f.message() {
		return KindUnknown
	}
	switch f.num {
	case 1:
		return KindTensor
	case 4:
		return KindSequence
	case 5:
		return KindMap
	case 7:
		return KindOpaque
	case 8:
		return KindSparseTensor
	case 9:
		return KindOptional
	}
	return KindUnknown
}

func (d *decoder) valueType(f field, v *Value) error {
	kind := kindOf(f)
	if kind == KindUnknown {
		return nil
	}
	if kind != v.Kind { // the last member of a oneof wins
		*v = Value{Name: v.Name, Kind: kind}
	}
	if kind != KindTensor && kind != KindSparseTensor {
		return nil
	}
	return d.nested(f, "tensor_type", -1, func(f field) error {
		switch {
		case f.num == 1 && f.varint():
			v.Elem = ElemType(int32(f.uint))
		case f.num == 2 && f.message():
			v.Ranked = true
			return d.nested(f, "shape", -1, func(f field) error { return d.dim(f, v) })
		}
		return nil
	})
}

// dim appends one dimension. As in ONNX Runtime, a negative size and an empty name mean
// an unknown size.
func (d *decoder) dim(f field, v *Value) error {
	if f.num != 1 || !f.message() {
		return nil
	}
	if len(v.Dims) == maxRank {
		return d.errorf(f.at, "more than %d dimensions", maxRank)
	}
	size, symbol := int64(-1), ""
	err := d.nested(f, "dim", len(v.Dims), func(f field) (err error) {
		switch {
		case f.num == 1 && f.varint():
			size, symbol = max(int64(f.uint), -1), ""
		case f.num == 2 && f.message():
			size = -1
			symbol, err = d.name(f, "dim_param")
		}
		return err
	})
	if err != nil {
		return err
	}
	v.Dims = append(v.Dims, size)
	v.Symbols = append(v.Symbols, symbol)
	return d.keep(f, 24)
}
