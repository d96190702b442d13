package rest

import (
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/pkg/tritonjson"
)

// inputExact reads one input in Triton's order: which sources of data it has, then name,
// type and shape, then the source.
func (d *Decoder) inputExact(t *kserve.Tensor) error {
	r := &d.r
	object := r.Pos()
	if err := d.skip(0); err != nil {
		return err
	}
	end := r.Pos()
	var from source
	from.data = r.Find(object, "data")
	params := -1
	if r.Find(object, "parameters") {
		params = r.Pos()
		from.binary = r.Find(params, paramBinarySize)
		from.shm.region = r.Find(params, paramRegion)
	}
	if err := from.check(); err != nil {
		return err
	}
	for _, m := range [...]struct {
		name string
		read func(*kserve.Tensor) error
	}{
		{"name", func(t *kserve.Tensor) error { return d.name(&t.Name) }},
		{"datatype", d.datatype},
		{"shape", d.shape},
	} {
		if !r.Find(object, m.name) {
			return missing(m.name)
		}
		if err := m.read(t); err != nil {
			return err
		}
	}
	if err := d.sourceExact(&from, params); err != nil {
		return err
	}
	if from.data {
		r.Find(object, "data")
		if err := d.data(t); err != nil {
			return err
		}
	}
	r.Seek(end)
	return d.otherData(t, &from)
}

// sourceExact reads the parameters of the source from the object at params, which is
// negative without one. The parameters of shared memory must be valid even if the data is
// in the text.
func (d *Decoder) sourceExact(from *source, params int) (err error) {
	if params < 0 {
		return nil
	}
	if from.binary {
		d.r.Find(params, paramBinarySize)
		if from.size, err = d.r.Uint(); err != nil {
			return unparsable(paramBinarySize, err)
		}
		return nil
	}
	from.shm.RegionSlice, _, err = regionSlice(&d.r, params)
	return err
}

func (d *Decoder) name(to *string) error {
	s, err := d.r.Text()
	if err != nil {
		return unparsable("name", err)
	}
	if err := kserve.CheckLength("tensor name", len(s), kserve.MaxName); err != nil {
		return err
	}
	*to = d.names.get(s)
	return nil
}

func (d *Decoder) datatype(t *kserve.Tensor) error {
	s, err := d.r.Text()
	if err != nil {
		return unparsable("datatype", err)
	}
	if err := kserve.CheckLength("data type", len(s), kserve.MaxName); err != nil {
		return err
	}
	// An unknown name stays Invalid. For binary data the core reports it, for
	// other data the method data.
	t.DataType, _ = tensor.ParseDataType(string(s))
	return nil
}

func (d *Decoder) shape(t *kserve.Tensor) error {
	r := &d.r
	if !r.Is('[') {
		return unparsable("shape", tritonjson.ErrArray)
	}
	r.Enter()
	bad := false
	for first := true; ; first = false {
		more, ok := r.Element(first)
		if !ok {
			return r.Err()
		}
		if !more {
			break
		}
		v, err := r.Uint()
		if err != nil {
			return unparsable("shape", tritonjson.ErrUint) // Triton's text, also for a dimension above 2^64
		}
		if err := kserve.CheckDims(len(t.Shape) + 1); err != nil {
			return err
		}
		bad = bad || v > math.MaxInt64
		t.Shape = append(t.Shape, int64(v))
	}
	if bad {
		return status.New(status.InvalidArg, "invalid shape for input '%s': shape %s contains one or more invalid dimensions", t.Name, t.Shape)
	}
	return nil
}
