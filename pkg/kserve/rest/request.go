package rest

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
)

// fast reads the request in text order. It reports false for anything unusual, which exact
// then reads.
func (d *Decoder) fast() bool {
	r := &d.r
	r.Space()
	if !r.Is('{') {
		return false
	}
	r.Enter()
	var id, parameters, inputs, outputs bool
	for first := true; ; first = false {
		name, ok := r.Member(first)
		switch {
		case !ok:
			return false
		case name == nil:
			return inputs && r.End() && d.tail == d.body.Len()
		case string(name) == "id" && !id:
			id = true
			ok = d.id() == nil
		case string(name) == "parameters" && !parameters:
			parameters = true
			ok = d.parameters() == nil
		case string(name) == "inputs" && !inputs:
			inputs = true
			ok = d.inputs((*Decoder).input) == nil
		case string(name) == "outputs" && !outputs:
			outputs = true
			ok = d.outputs((*Decoder).output) == nil
		case slices.Contains(requestMembers, string(name)):
			return false
		default:
			ok = r.Skip(1)
		}
		if !ok {
			return false
		}
	}
}

// exact reads the request in Triton's order. It checks the syntax first, so the readers
// below it cannot meet syntax errors.
func (d *Decoder) exact() error {
	r := &d.r
	if !r.Document() {
		return r.Err()
	}
	root := r.Pos()
	if err := d.unique(root); err != nil {
		return err
	}
	if r.Find(root, "id") {
		if err := d.id(); err != nil {
			return err
		}
	}
	if r.Find(root, "parameters") {
		if err := d.parameters(); err != nil {
			return err
		}
	}
	if !r.Find(root, "inputs") {
		return missing("inputs")
	}
	if err := d.inputs((*Decoder).inputExact); err != nil {
		return err
	}
	if d.tail != d.body.Len() {
		return status.New(status.InvalidArg, "unexpected additional input data for model '%s'", d.req.ModelName)
	}
	if !r.Find(root, "outputs") {
		return nil
	}
	return d.outputs((*Decoder).outputExact)
}

func (d *Decoder) id() error {
	s, err := d.r.Text()
	if err != nil {
		return unparsable("id", err)
	}
	if err := kserve.CheckLength("request ID", len(s), kserve.MaxID); err != nil {
		return err
	}
	d.req.ID = string(s)
	return nil
}

// count checks and counts element number n of a list.
func (d *Decoder) count(what string, n int) error {
	if err := kserve.CheckCount(what, n); err != nil {
		return err
	}
	return d.element(n)
}

// inputs reads the array of inputs at the cursor.
func (d *Decoder) inputs(read func(*Decoder, *kserve.Tensor) error) error {
	if !d.r.Is('[') {
		return unparsable("inputs", tritonjson.ErrArray)
	}
	d.r.Enter()
	for first := true; ; first = false {
		more, ok := d.r.Element(first)
		if !ok {
			return d.r.Err()
		}
		if !more {
			return nil
		}
		if err := d.count("inputs", len(d.req.Inputs)+1); err != nil {
			return err
		}
		if err := read(d, d.req.AddInput()); err != nil {
			return err
		}
	}
}

// outputs reads the array of requested outputs at the cursor.
func (d *Decoder) outputs(read func(*Decoder, *kserve.RequestedOutput) error) error {
	if !d.r.Is('[') {
		return unparsable("outputs", tritonjson.ErrArray)
	}
	d.r.Enter()
	for first := true; ; first = false {
		more, ok := d.r.Element(first)
		if !ok {
			return d.r.Err()
		}
		if !more {
			return nil
		}
		if err := d.count("requested outputs", len(d.req.Outputs)+1); err != nil {
			return err
		}
		outputs := append(d.req.Outputs, kserve.RequestedOutput{})
		d.req.Outputs = outputs
		if err := read(d, &outputs[len(outputs)-1]); err != nil {
			return err
		}
	}
}
