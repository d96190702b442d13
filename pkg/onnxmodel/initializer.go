package onnxmodel

import (
	"math"
	"math/bits"
	"slices"
)

// firstDefault is the IR version from which initializers may be the defaults
// of inputs.
const firstDefault = 4

// initializer takes a weight's name, size and file and skips its data.
func (d *decoder) initializer(f field) error {
	name, elements := "", int64(1)
	err := d.nested(f, "initializer", len(d.m.Initializers), func(f field) (err error) {
		switch {
		case f.num == 1 && f.varint():
			elements = multiply(elements, f.uint)
		case f.num == 1 && f.message(): // packed
			for d.pos < f.end {
				v, err := d.varint(f.end)
				if err != nil {
					return err
				}
				elements = multiply(elements, v)
			}
		case f.num == 8 && f.message():
			name, err = d.name(f, "name")
		case f.num == 13 && f.message():
			err = d.external(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	d.m.Initializers = append(d.m.Initializers, name)
	if d.m.Parameters += elements; d.m.Parameters < 0 {
		d.m.Parameters = math.MaxInt64
	}
	return d.keep(f, 48)
}

// multiply returns a*b, limited to the largest int64.
func multiply(a int64, b uint64) int64 {
	hi, lo := bits.Mul64(uint64(a), b)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func (d *decoder) external(f field) error {
	key, value := "", ""
	err := d.nested(f, "external_data", -1, func(f field) (err error) {
		switch {
		case f.num == 1 && f.message():
			key, err = d.name(f, "key")
		case f.num == 2 && f.message():
			value, err = d.name(f, "value")
		}
		return err
	})
	// Usually all weights of a model are in one file, so a comparison with the
	// last one drops nearly all repetitions before the sort in separate.
	n := len(d.m.External)
	if err != nil || key != "location" || n > 0 && d.m.External[n-1] == value {
		return err
	}
	d.m.External = append(d.m.External, value)
	return d.keep(f, 0)
}

// splitInputs splits the graph inputs into those that a request gives and those with a
// default.
func (d *decoder) splitInputs() {
	weight := make(map[string]bool, len(d.inputs))
	for _, v := range d.inputs {
		weight[v.Name] = false
	}
	for _, name := range d.m.Initializers {
		if _, ok := weight[name]; ok {
			weight[name] = true
		}
	}
	for _, v := range d.inputs {
		switch {
		case !weight[v.Name]:
			d.m.Inputs = append(d.m.Inputs, v)
		case d.m.IRVersion >= firstDefault:
			d.m.Overridable = append(d.m.Overridable, v)
		}
	}
	slices.Sort(d.m.External)
	d.m.External = slices.Compact(d.m.External)
}
