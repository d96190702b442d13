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
	var shm placing
	for first := true; ; first = false {
		name, ok := r.member(first)
		switch {
		case !ok:
			return r.err()
		case name == nil:
			return d.checkPlaced(o, &shm, top)
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
		default:
			if mine, err := shm.member(r, name); err != nil {
				return err
			} else if !mine && !r.skip(4) {
				return r.err()
			}
		}
	}
}

// checkPlaced finds the region of an output, if it has one.
func (d *Decoder) checkPlaced(o *kserve.RequestedOutput, shm *placing, top bool) (err error) {
	switch {
	case shm.bad != nil:
		return shm.bad
	case !shm.region:
		return nil
	case top:
		return errPlacedClasses
	case o.Binary:
		return errPlacedBinary
	}
	o.Into, err = shm.Find(d.Regions)
	return err
}

var (
	errPlacedClasses = status.New(status.InvalidArg, "Output can't set both 'shared_memory_region' and 'classification'")
	errPlacedBinary  = status.New(status.InvalidArg, "Output can't set both 'shared_memory_region' and 'binary_data'")
)

// outputExact reads one requested output in the order in which Triton looks at
// its members.
func (d *Decoder) outputExact(o *kserve.RequestedOutput) error {
	r := &d.r
	object := r.i
	if !r.skip(0) {
		return r.err()
	}
	end := r.i
	params := -1
	if r.find(object, "parameters") {
		params = r.i
		if err := d.checkExclusive(params); err != nil {
			return err
		}
	}
	if !r.find(object, "name") {
		return missing("name")
	}
	if err := d.name(&o.Name); err != nil {
		return err
	}
	if params >= 0 {
		if err := d.outputParametersExact(o, params); err != nil {
			return err
		}
	}
	r.i = end
	return nil
}

// checkExclusive refuses what an output in shared memory cannot have.
func (d *Decoder) checkExclusive(params int) error {
	r := &d.r
	if !r.find(params, paramRegion) {
		return nil
	}
	if r.find(params, "classification") {
		return errPlacedClasses
	}
	if !r.find(params, "binary_data") {
		return nil
	}
	raw, ok := r.bool()
	switch {
	case !ok:
		return within("Unable to set 'binary_data'", errBool)
	case raw:
		return errPlacedBinary
	}
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
	place, found, err := r.place(at)
	if err != nil {
		return err
	}
	if found {
		o.Into, err = place.Find(d.Regions)
		return err
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
