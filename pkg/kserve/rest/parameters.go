package rest

import (
	"bytes"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

// parameters reads the request's parameters: those with a meaning into fields
// of their own, the rest as they are.
func (d *Decoder) parameters() error {
	r := &d.r
	if !r.is('{') {
		return within("failed to get request params.", "attempt to get members for non-object")
	}
	r.i++
	var seen uint8
	for first := true; ; first = false {
		name, ok := r.member(first)
		if !ok {
			return r.err()
		}
		if name == nil {
			return nil
		}
		bit := wellKnown(name)
		if seen&bit != 0 {
			if !r.skip(0) {
				return r.err()
			}
			continue
		}
		seen |= bit
		if err := d.parameter(name); err != nil {
			return err
		}
	}
}

// wellKnown is a bit for each parameter that has a field of its own; the first
// of duplicates counts. Of the others all are kept, in order.
func wellKnown(name []byte) uint8 {
	switch string(name) {
	case "sequence_id":
		return 1
	case "sequence_start":
		return 2
	case "sequence_end":
		return 4
	case "binary_data_output":
		return 8
	case "priority":
		return 16
	case "timeout":
		return 32
	}
	return 0
}

func (d *Decoder) parameter(name []byte) error {
	q := d.req
	switch string(name) {
	case "sequence_id":
		return d.sequenceID()
	case "sequence_start":
		return d.boolParameter("sequence_start", &q.SequenceStart)
	case "sequence_end":
		return d.boolParameter("sequence_end", &q.SequenceEnd)
	case "binary_data_output":
		return d.boolParameter("binary_data_output", &q.BinaryOutput)
	case "priority":
		return d.uintParameter("priority", &q.Priority)
	case "timeout":
		return d.uintParameter("timeout", &q.TimeoutMicros)
	}
	if bytes.HasPrefix(name, []byte("triton_")) {
		return status.New(status.InvalidArg, "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.")
	}
	return d.customParameter(d.names.get(name))
}

func (d *Decoder) boolParameter(name string, to *bool) error {
	v, ok := d.r.bool()
	if !ok {
		return within("Unable to parse '"+name+"'", errBool)
	}
	*to = v
	return nil
}

func (d *Decoder) uintParameter(name string, to *uint64) error {
	v, ok := d.r.uint()
	if !ok {
		return within("Unable to parse '"+name+"'", errUint)
	}
	*to = v
	return nil
}

func (d *Decoder) sequenceID() error {
	r := &d.r
	if !r.is('"') {
		v, ok := r.uint()
		if !ok {
			return within("Unable to parse 'sequence_id'", errString)
		}
		d.req.SequenceID = v
		return nil
	}
	s, ok := r.str()
	if !ok {
		return r.err()
	}
	return d.req.SetSequenceText(string(s))
}

func (d *Decoder) customParameter(name string) error {
	r := &d.r
	p := kserve.Parameter{Name: name}
	switch r.peek() {
	case '"':
		s, ok := r.str()
		if !ok {
			return r.err()
		}
		p.Kind, p.String = kserve.ParamString, string(s)
	case 't', 'f':
		v, ok := r.bool()
		if !ok {
			return r.err()
		}
		p.Kind, p.Bool = kserve.ParamBool, v
	case '{', '[', 'n':
		return status.New(status.InvalidArg, "parameter '%s' has invalid type. It should be either 'int', 'bool', or 'string'.", name)
	default:
		var n number
		if !r.number(&n) {
			return r.err()
		}
		if v, ok := n.signed(); ok {
			p.Kind, p.Int = kserve.ParamInt, v
		} else {
			p.Kind, p.Double = kserve.ParamDouble, n.float(r.b)
		}
	}
	d.req.Parameters = append(d.req.Parameters, p)
	return nil
}
