package rest

import (
	"math"
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

const (
	paramBinary         = "binary_data"
	paramClassification = "classification"
)

// output reads one requested output in text order. After any error, outputExact reads the
// output again and returns Triton's error.
func (d *Decoder) output(o *kserve.RequestedOutput) error {
	r := &d.r
	if !r.Is('{') {
		return missing("name")
	}
	r.Enter()
	var named, params bool
	for first := true; ; first = false {
		name, ok := r.Member(first)
		var err error
		switch {
		case !ok:
			return r.Err()
		case name == nil && !named:
			return missing("name")
		case name == nil:
			return nil
		case string(name) == "name" && !named:
			named = true
			err = d.name(&o.Name)
		case string(name) == "parameters" && !params:
			params = true
			if r.Is('{') {
				err = d.outputParameters(o)
			} else {
				err = d.skip(3)
			}
		case slices.Contains(outputMembers, string(name)):
			return errRepeated
		default:
			err = d.skip(3)
		}
		if err != nil {
			return err
		}
	}
}

// outputParameters reads the parameters at the cursor, for output.
func (d *Decoder) outputParameters(o *kserve.RequestedOutput) (err error) {
	r := &d.r
	r.Enter()
	var form, classes bool
	var shm regionParams
	for first := true; ; first = false {
		name, ok := r.Member(first)
		switch {
		case !ok:
			return r.Err()
		case name == nil:
			return d.outputRegion(o, &shm, classes)
		case string(name) == paramBinary && !form:
			form = true
			if o.Binary, err = r.Bool(); err != nil {
				return unparsable(paramBinary, err)
			}
		case string(name) == paramClassification && !classes:
			classes = true
			if err := d.classification(o); err != nil {
				return err
			}
		case string(name) == paramBinary, string(name) == paramClassification:
			return errRepeated
		default:
			if err := shm.member(d, name); err != nil {
				return err
			}
		}
	}
}

func (d *Decoder) classification(o *kserve.RequestedOutput) error {
	v, err := d.r.Uint()
	if err != nil {
		return withContext("Unable to set 'classification'", err)
	}
	o.Classification = uint32(min(v, math.MaxUint32))
	return nil
}

// outputRegion finds the region of an output, if it names one.
func (d *Decoder) outputRegion(o *kserve.RequestedOutput, shm *regionParams, classes bool) (err error) {
	switch {
	case shm.invalid != nil:
		return shm.invalid
	case !shm.region:
		return nil
	case classes:
		return errRegionClasses
	case o.Binary:
		return errRegionBinary
	}
	o.Into, err = shm.Find(d.Regions)
	return err
}

var (
	errRegionClasses = status.New(status.InvalidArg, "Output can't set both 'shared_memory_region' and 'classification'")
	errRegionBinary  = status.New(status.InvalidArg, "Output can't set both 'shared_memory_region' and 'binary_data'")
)

// outputExact reads one requested output in Triton's order.
func (d *Decoder) outputExact(o *kserve.RequestedOutput) error {
	r := &d.r
	object := r.Pos()
	if err := d.skip(0); err != nil {
		return err
	}
	end := r.Pos()
	params := -1
	if r.Find(object, "parameters") {
		params = r.Pos()
		if err := d.checkExclusive(params); err != nil {
			return err
		}
	}
	if !r.Find(object, "name") {
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
	r.Seek(end)
	return nil
}

// checkExclusive rejects parameters that cannot be combined with shared memory.
func (d *Decoder) checkExclusive(params int) error {
	r := &d.r
	if !r.Find(params, paramRegion) {
		return nil
	}
	if r.Find(params, paramClassification) {
		return errRegionClasses
	}
	if !r.Find(params, paramBinary) {
		return nil
	}
	raw, err := r.Bool()
	switch {
	case err != nil:
		return withContext("Unable to set 'binary_data'", err)
	case raw:
		return errRegionBinary
	}
	return nil
}

func (d *Decoder) outputParametersExact(o *kserve.RequestedOutput, params int) error {
	r := &d.r
	if r.Find(params, paramClassification) {
		if err := d.classification(o); err != nil {
			return err
		}
	}
	slice, found, err := regionSlice(r, params)
	if err != nil {
		return err
	}
	if found {
		o.Into, err = slice.Find(d.Regions)
		return err
	}
	if r.Find(params, paramBinary) {
		if o.Binary, err = r.Bool(); err != nil {
			return unparsable(paramBinary, err)
		}
	}
	return nil
}
