package rest

import (
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

// outputs reads the array of requested outputs at the cursor.
func (d *Decoder) outputs() error {
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
		start := r.i
		if !r.skip(2) {
			return r.err()
		}
		end := r.i
		if err := d.output(start); err != nil {
			return err
		}
		r.i = end
	}
}

// output reads one requested output, an object at offset at. Such objects are
// small, so that looking for each member by itself costs little.
func (d *Decoder) output(at int) error {
	r := &d.r
	if !r.find(at, "name") {
		return missing("name")
	}
	var o kserve.RequestedOutput
	if err := d.name(&o.Name); err != nil {
		return err
	}
	if r.find(at, "parameters") {
		if err := d.outputParameters(&o, r.i); err != nil {
			return err
		}
	}
	d.req.Outputs = append(d.req.Outputs, o)
	return nil
}

func (d *Decoder) outputParameters(o *kserve.RequestedOutput, at int) error {
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
