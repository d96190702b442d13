package rest

import (
	"math"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

// source says where the data of an input stands. More than one flag is an error.
type source struct {
	data   bool
	binary bool
	size   uint64 // binary
	shm    placing
}

// inputState is what input has met so far.
type inputState struct {
	from                         source
	named, typed, shaped, params bool
	dataAt                       int // of data that came before what it needs
}

// input reads one input in text order. All errors are as good as any other:
// they send the request to inputExact.
func (d *Decoder) input(t *kserve.Tensor) error {
	r := &d.r
	if !r.is('{') {
		return errOneSource("")
	}
	r.i++
	var s inputState
	for first := true; ; first = false {
		name, ok := r.member(first)
		if !ok {
			return r.err()
		}
		if name == nil {
			break
		}
		if err := d.inputMember(t, &s, name); err != nil {
			return err
		}
	}
	if !s.named || !s.typed || !s.shaped {
		return missing("name")
	}
	if err := s.from.check(); err != nil {
		return err
	}
	if s.from.shm.bad != nil && !s.from.binary {
		return s.from.shm.bad
	}
	if s.dataAt > 0 {
		end := r.i
		r.i = s.dataAt
		if err := d.data(t); err != nil {
			return err
		}
		r.i = end
	}
	return d.otherData(t, &s.from)
}

func (d *Decoder) inputMember(t *kserve.Tensor, s *inputState, name []byte) error {
	switch {
	case string(name) == "name" && !s.named:
		s.named = true
		return d.name(&t.Name)
	case string(name) == "datatype" && !s.typed:
		s.typed = true
		return d.datatype(t)
	case string(name) == "shape" && !s.shaped:
		s.shaped = true
		return d.shape(t)
	case string(name) == "parameters" && !s.params:
		s.params = true
		return d.inputParameters(&s.from)
	case string(name) == "data" && !s.from.data:
		s.from.data = true
		if s.named && s.typed && s.shaped {
			return d.data(t)
		}
		s.dataAt = d.r.i
	}
	if !d.r.skip(3) {
		return d.r.err()
	}
	return nil
}

// inputExact reads one input in the order in which Triton looks at its members:
// which sources of data there are, what the tensor is, then the one source.
func (d *Decoder) inputExact(t *kserve.Tensor) error {
	r := &d.r
	object := r.i
	if !r.skip(0) {
		return r.err()
	}
	end := r.i
	var from source
	from.data = r.find(object, "data")
	params := -1
	if r.find(object, "parameters") {
		params = r.i
		from.binary = r.find(params, paramBinarySize)
		from.shm.region = r.find(params, paramRegion)
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
		if !r.find(object, m.name) {
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
		r.find(object, "data")
		if err := d.data(t); err != nil {
			return err
		}
	}
	r.i = end
	return d.otherData(t, &from)
}

// sourceExact reads the parameters, at that offset, that say more of the source.
// Those of shared memory must be right even when the data is in the text.
func (d *Decoder) sourceExact(from *source, params int) error {
	if params < 0 {
		return nil
	}
	if from.binary {
		var ok bool
		d.r.find(params, paramBinarySize)
		if from.size, ok = d.r.uint(); !ok {
			return within("Unable to parse 'binary_data_size'", errUint)
		}
		return nil
	}
	var err error
	from.shm.Place, _, err = d.r.place(params)
	return err
}

func (d *Decoder) name(to *string) error {
	if !d.r.is('"') {
		return within("Unable to parse 'name'", errString)
	}
	s, ok := d.r.str()
	if !ok {
		return d.r.err()
	}
	*to = d.names.get(s)
	return nil
}

func (d *Decoder) datatype(t *kserve.Tensor) error {
	if !d.r.is('"') {
		return within("Unable to parse 'datatype'", errString)
	}
	s, ok := d.r.str()
	if !ok {
		return d.r.err()
	}
	// An unknown name stays Invalid: the core says so for binary data, data for
	// the rest.
	t.DataType, _ = tensor.ParseDataType(string(s))
	return nil
}

func (d *Decoder) shape(t *kserve.Tensor) error {
	const context = "Unable to parse 'shape'"
	r := &d.r
	if !r.is('[') {
		return within(context, errArray)
	}
	r.i++
	bad := false
	for first := true; ; first = false {
		more, ok := r.element(first)
		if !ok {
			return r.err()
		}
		if !more {
			break
		}
		v, ok := r.uint()
		if !ok {
			return within(context, errUint)
		}
		bad = bad || v > math.MaxInt64
		t.Shape = append(t.Shape, int64(v))
	}
	if bad {
		return status.New(status.InvalidArg, "invalid shape for input '%s': shape %s contains one or more invalid dimensions", t.Name, t.Shape)
	}
	return nil
}

// inputParameters looks for the parameters that name a source of data, for
// input. Anything but an object counts as none.
func (d *Decoder) inputParameters(from *source) error {
	r := &d.r
	if !r.is('{') {
		if !r.skip(3) {
			return r.err()
		}
		return nil
	}
	r.i++
	for first := true; ; first = false {
		name, ok := r.member(first)
		if !ok {
			return r.err()
		}
		switch {
		case name == nil:
			return nil
		case string(name) == paramBinarySize && !from.binary:
			from.binary = true
			if from.size, ok = r.uint(); !ok {
				return within("Unable to parse 'binary_data_size'", errUint)
			}
		default:
			if mine, err := from.shm.member(r, name); err != nil {
				return err
			} else if !mine && !r.skip(4) {
				return r.err()
			}
		}
	}
}

func (s *source) check() error {
	set := ""
	n := 0
	for _, f := range [...]struct {
		on   bool
		name string
	}{{s.data, " 'data'"}, {s.binary, " 'binary_data_size'"}, {s.shm.region, " 'shared_memory_region'"}} {
		if f.on {
			n++
			set += f.name
		}
	}
	if n == 1 {
		return nil
	}
	return errOneSource(set)
}

func errOneSource(set string) error {
	text := "But no field is set"
	if set != "" {
		text = "But set" + set
	}
	return status.New(status.InvalidArg, "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', "+
		"'shared_memory_region' in 'parameters'. %s", text)
}

// otherData completes an input whose data is not in the text.
func (d *Decoder) otherData(t *kserve.Tensor, from *source) error {
	switch {
	case from.shm.region:
		return from.shm.Lend(t, d.Regions, d.Pool)
	case from.binary:
		left := uint64(d.body.Len() - d.tail)
		if from.size > left {
			return status.New(status.InvalidArg, "unexpected size for input '%s', expecting %d additional bytes for model '%s'",
				t.Name, from.size-left, d.req.ModelName)
		}
		if from.size > 0 {
			t.Data = tensor.SliceData(d.body, d.tail, int(from.size))
			d.tail += int(from.size)
		}
	}
	return nil
}
