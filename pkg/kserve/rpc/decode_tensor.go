package rpc

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
	"triton/pkg/tensor"
)

func (d *decoder) input(m *kserve.Request) error {
	if len(m.Inputs) >= fewElements {
		var ok bool
		var err error
		if m.Inputs, ok, err = reserve(d, &requestInputList, m.Inputs); !ok {
			return err
		}
	}
	return d.tensor(m.AddInput(), len(m.Inputs)-1)
}

func (d *decoder) responseOutput(m *kserve.Response) error {
	if len(m.Outputs) >= fewElements {
		var ok bool
		var err error
		if m.Outputs, ok, err = reserve(d, &responseOutputList, m.Outputs); !ok {
			return err
		}
	}
	return d.tensor(m.AddOutput(), len(m.Outputs)-1)
}

func (d *decoder) requestedOutput(m *kserve.Request) error {
	if len(m.Outputs) >= fewElements {
		var ok bool
		var err error
		if m.Outputs, ok, err = reserve(d, &requestOutputList, m.Outputs); !ok {
			return err
		}
	}
	m.Outputs = append(m.Outputs, kserve.RequestedOutput{})
	return d.output(&m.Outputs[len(m.Outputs)-1], len(m.Outputs)-1)
}

func (d *decoder) raw(l *list) error {
	if len(d.raws) >= fewElements {
		var ok bool
		var err error
		if d.raws, ok, err = reserve(d, l, d.raws); !ok {
			return err
		}
	}
	at, err := d.span()
	if err == nil {
		d.raws = append(d.raws, at)
	}
	return err
}

// tensor reads an InferInputTensor or an InferOutputTensor, which have the same wire form.
func (d *decoder) tensor(t *kserve.Tensor, index int) error {
	msg, err := d.bytes()
	for err == nil && len(msg) > 0 {
		var f field
		if f, msg, err = next(msg); err != nil {
			break
		}
		switch {
		case f.num == 3 && (f.typ == protowire.VarintType || f.typ == protowire.BytesType):
			t.Shape, err = d.dims(t.Shape, f)
		case f.typ != protowire.BytesType:
		case f.num == 1:
			t.Name, err = d.intern("tensor name", f.b)
		case f.num == 2:
			if err = d.checkLength("data type", len(f.b), kserve.MaxName); err != nil {
				break
			}
			if t.DataType, _ = tensor.ParseDataType(string(f.b)); t.DataType == tensor.Invalid && !utf8.Valid(f.b) {
				err = errUTF8
			}
		case f.num == 4:
			err = d.addTensorParameter(&d.inputs, f.b, index)
		case f.num == 5:
			err = d.content(f.b, index)
		}
	}
	return err
}

// output reads an InferRequestedOutputTensor.
func (d *decoder) output(o *kserve.RequestedOutput, index int) error {
	msg, err := d.bytes()
	for err == nil && len(msg) > 0 {
		var f field
		if f, msg, err = next(msg); err != nil || f.typ != protowire.BytesType {
			continue
		}
		switch f.num {
		case 1:
			o.Name, err = d.intern("output name", f.b)
		case 2:
			err = d.addTensorParameter(&d.outputs, f.b, index)
		}
	}
	return err
}
