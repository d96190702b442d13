package rest

import (
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

// outputs reads the array of requested outputs at the cursor.
func (d *Decoder) outputs(one func(*Decoder, *kserve.RequestedOutput) error) error {
	r := &d.r
	r.i++
	for first := true; ; first = false {
		more, ok := r.element(first)
		if !ok {
			return r.err()
		}
		if !more {
			return nil
		}
		outputs := append(d.req.Outputs, kserve.RequestedOutput{})
		d.req.Outputs = outputs
		if err := one(d, &outputs[len(outputs)-1]); err != nil {
			return err
		}
	}
}

// output reads one requested output in text order. All errors are as good as
// any other: they send the request to outputExact.
func (d *Decoder) output(o *kserve.RequestedOutput) error {
	r := &d.r
	if !r.is('{') {
		return missing("name")
	}
	r.i++
	var named, params bool
	for first := true; ; first = false {
		name, ok := r.member(first)
		switch {
		case !ok:
			return r.err()
		case name == nil && !named:
			return missing("name")
		case name == nil:
			return nil
		case string(name) == "name" && !named:
			named = true
			if err := d.name(&o.Name); err != nil {
				return err
			}
		case string(name) == "parameters" && !params && r.is('{'):
			params = true
			if err := d.outputParameters(o); err != nil {
				return err
			}
		default:
			if string(name) == "parameters" {
				params = true
			}
			if !r.skip(3) {
				return r.err()
			}
		}
	}
}

// outputParameters reads the parameters at the cursor, for output.
func (d *Decoder) outputParameters(o *kserve.RequestedOutput) error {
	r := &d.r
	r.i++
	var form, top bool
	for first := true; ; first = false {
		name, ok := r.member(first)
		switch {
		case !ok:
			return r.err()
		case name == nil:
			return nil
		case string(name) == "binary_data" && !form:
			form = true
			if o.Binary, ok = r.bool(); !ok {
				return within("Unable to parse 'binary_data'", errBool)
			}
		case string(name) == "classification" && !top:
			top = true
			v, ok := r.uint()
			if !ok {
				return within("Unable to set 'classification'", errUint)
			}
			o.Classification = uint32(min(v, math.MaxUint32))
		case string(name) == "shared_memory_region":
			return status.New(status.NotFound, "Unable to find shared memory region")
		default:
			if !r.skip(4) {
				return r.err()
			}
		}
	}
}

// outputExact reads one requested output in the order in which Triton looks at
// its members.
func (d *Decoder) outputExact(o *kserve.RequestedOutput) error {
	r := &d.r
	object := r.i
	if !r.skip(0) {
		return r.err()
	}
	end := r.i
	if !r.find(object, "name") {
		return missing("name")
	}
	if err := d.name(&o.Name); err != nil {
		return err
	}
	if r.find(object, "parameters") {
		if err := d.outputParametersExact(o, r.i); err != nil {
			return err
		}
	}
	r.i = end
	return nil
}

func (d *Decoder) outputParametersExact(o *kserve.RequestedOutput, at int) error {
	r := &d.r
	if r.find(at, "classification") {
		v, ok := r.uint()
		if !ok {
			return within("Unable to set 'classification'", errUint)
		}
		o.Classification = uint32(min(v, math.MaxUint32))
	}
	if r.find(at, "shared_memory_region") {
		if !r.is('"') {
			return within("Unable to parse 'shared_memory_region'", errString)
		}
		s, ok := r.str()
		if !ok {
			return r.err()
		}
		return status.New(status.NotFound, "Unable to find shared memory region: '%s'", s)
	}
	if r.find(at, "binary_data") {
		v, ok := r.bool()
		if !ok {
			return within("Unable to parse 'binary_data'", errBool)
		}
		o.Binary = v
	}
	return nil
}
