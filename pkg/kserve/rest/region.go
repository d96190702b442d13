package rest

import (
	"triton/pkg/kserve"
	"triton/pkg/tritonjson"
)

// The parameters of inputs and outputs in shared memory.
const (
	paramRegion   = "shared_memory_region"
	paramOffset   = "shared_memory_offset"
	paramByteSize = "shared_memory_byte_size"
)

// regionParams holds the shared memory parameters that were read so far, in text order.
type regionParams struct {
	kserve.RegionSlice
	region, offset, size bool  // read
	invalid              error // not nil if one of them is wrong; exact returns Triton's text
}

// member reads the parameter at the cursor, or skips it if it is not about shared memory.
func (p *regionParams) member(d *Decoder, name []byte) (err error) {
	r := &d.r
	at := r.Pos()
	switch {
	case string(name) == paramRegion && !p.region:
		p.region = true
		err = readRegion(r, &p.Region)
	case string(name) == paramOffset && !p.offset:
		p.offset = true
		err = readSize(r, paramOffset, &p.Offset)
	case string(name) == paramByteSize && !p.size:
		p.size = true
		err = readSize(r, paramByteSize, &p.Size)
	case string(name) == paramRegion, string(name) == paramOffset, string(name) == paramByteSize:
		return errRepeated
	default:
		return d.skip(4)
	}
	if err != nil {
		p.invalid = err // whether it is an error depends on the other members
		r.Seek(at)
		return d.skip(4)
	}
	return nil
}

// regionSlice reads the shared memory parameters of the object at params, in
// Triton's order. found reports whether a region is named.
func regionSlice(r *tritonjson.Reader, params int) (s kserve.RegionSlice, found bool, err error) {
	if found = r.Find(params, paramRegion); found {
		if err = readRegion(r, &s.Region); err != nil {
			return s, false, err
		}
	}
	if r.Find(params, paramOffset) {
		if err = readSize(r, paramOffset, &s.Offset); err != nil {
			return s, false, err
		}
	}
	if r.Find(params, paramByteSize) {
		err = readSize(r, paramByteSize, &s.Size)
	}
	return s, found, err
}

func readRegion(r *tritonjson.Reader, to *string) error {
	s, err := r.Text()
	if err != nil {
		return unparsable(paramRegion, err)
	}
	*to = string(s)
	return nil
}

func readSize(r *tritonjson.Reader, name string, to *uint64) error {
	v, err := r.Uint()
	if err != nil {
		return unparsable(name, err)
	}
	*to = v
	return nil
}
