package rest

import "triton/pkg/kserve"

// The parameters of inputs and outputs that say where the bytes are.
const (
	paramBinarySize = "binary_data_size"
	paramRegion     = "shared_memory_region"
	paramOffset     = "shared_memory_offset"
	paramByteSize   = "shared_memory_byte_size"
)

// placing is the members of a place that were met in text order.
type placing struct {
	kserve.Place
	region, offset, size bool
	bad                  error // the exact pass has the words for it
}

// member reads the member at the cursor if it belongs to a place.
func (p *placing) member(r *reader, name []byte) (mine bool, err error) {
	at := r.i
	switch {
	case string(name) == paramRegion && !p.region:
		p.region = true
		err = r.region(&p.Place)
	case string(name) == paramOffset && !p.offset:
		p.offset = true
		err = r.extent(paramOffset, &p.Offset)
	case string(name) == paramByteSize && !p.size:
		p.size = true
		err = r.extent(paramByteSize, &p.Size)
	default:
		return false, nil
	}
	if err == nil {
		return true, nil
	}
	p.bad = err // what it means depends on the other members
	r.i = at
	if !r.skip(4) {
		return true, r.err()
	}
	return true, nil
}

// place reads the place in an object of parameters, in Triton's order; found
// says whether a region is named.
func (r *reader) place(params int) (p kserve.Place, found bool, err error) {
	if found = r.find(params, paramRegion); found {
		if err = r.region(&p); err != nil {
			return p, false, err
		}
	}
	if r.find(params, paramOffset) {
		if err = r.extent(paramOffset, &p.Offset); err != nil {
			return p, false, err
		}
	}
	if r.find(params, paramByteSize) {
		err = r.extent(paramByteSize, &p.Size)
	}
	return p, found, err
}

func (r *reader) region(p *kserve.Place) error {
	if !r.is('"') {
		return within("Unable to parse 'shared_memory_region'", errString)
	}
	s, ok := r.str()
	if !ok {
		return r.err()
	}
	p.Region = string(s)
	return nil
}

func (r *reader) extent(name string, to *uint64) error {
	v, ok := r.uint()
	if !ok {
		return within("Unable to parse '"+name+"'", errUint)
	}
	*to = v
	return nil
}
