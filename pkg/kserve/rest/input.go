package rest

import (
	"slices"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
)

const paramBinarySize = "binary_data_size"

// source records where the data of an input is. Exactly one of data, binary and shm.region
// must be set.
type source struct {
	data   bool
	binary bool
	size   uint64 // binary
	shm    regionParams
}

// inputState records the members that input has read.
type inputState struct {
	from                         source
	named, typed, shaped, params bool
	dataPos                      int // of data that precedes name, type or shape
}

// input reads one input in text order. After any error, inputExact reads the input again and
// returns Triton's error.
func (d *Decoder) input(t *kserve.Tensor) error {
	r := &d.r
	if !r.Is('{') {
		return errOneSource("")
	}
	r.Enter()
	var s inputState
	for first := true; ; first = false {
		name, ok := r.Member(first)
		if !ok {
			return r.Err()
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
	if s.from.shm.invalid != nil && !s.from.binary {
		return s.from.shm.invalid
	}
	if s.dataPos > 0 {
		end := r.Pos()
		r.Seek(s.dataPos)
		if err := d.data(t); err != nil {
			return err
		}
		r.Seek(end)
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
		s.dataPos = d.r.Pos()
	case slices.Contains(inputMembers, string(name)):
		return errRepeated
	}
	return d.skip(3)
}

// inputParameters reads the parameters that name a source of data. A value that is not an
// object counts as missing.
func (d *Decoder) inputParameters(from *source) error {
	r := &d.r
	if !r.Is('{') {
		return d.skip(3)
	}
	r.Enter()
	for first := true; ; first = false {
		name, ok := r.Member(first)
		switch {
		case !ok:
			return r.Err()
		case name == nil:
			return nil
		case string(name) == paramBinarySize && !from.binary:
			from.binary = true
			var err error
			if from.size, err = r.Uint(); err != nil {
				return unparsable(paramBinarySize, err)
			}
		case string(name) == paramBinarySize:
			return errRepeated
		default:
			if err := from.shm.member(d, name); err != nil {
				return err
			}
		}
	}
}

// skip passes over a value inside depth arrays and objects.
func (d *Decoder) skip(depth int) error {
	if !d.r.Skip(depth) {
		return d.r.Err()
	}
	return nil
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

// otherData sets the data of an input whose data is not in the text.
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
