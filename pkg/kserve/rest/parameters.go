package rest

import (
	"bytes"
	"errors"

	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tritonjson"
)

// parameters reads the request's parameters: those that the protocol defines into fields of
// the request, the others unchanged.
func (d *Decoder) parameters() error {
	r := &d.r
	if !r.Is('{') {
		return malformed("failed to get request params.: attempt to get members for non-object")
	}
	r.Enter()
	var seen uint8
	for n := 1; ; n++ {
		name, ok := r.Member(n == 1)
		if !ok {
			return r.Err()
		}
		if name == nil {
			return uniqueParameters(d.req.Parameters)
		}
		if err := d.checkParameter(name, n); err != nil {
			return err
		}
		bit := wellKnown(name)
		if seen&bit != 0 {
			return repeatedParameter(string(name))
		}
		seen |= bit
		if err := d.parameter(name); err != nil {
			return err
		}
	}
}

// checkParameter applies the limits to the name of parameter number n.
func (d *Decoder) checkParameter(name []byte, n int) error {
	if err := d.count("parameters", n); err != nil {
		return err
	}
	return kserve.CheckLength("parameter name", len(name), kserve.MaxName)
}

// wellKnown returns a bit for each parameter that has a field of the request, 0 for the
// others.
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
	v, err := d.r.Bool()
	if err != nil {
		return unparsable(name, err)
	}
	*to = v
	return nil
}

func (d *Decoder) uintParameter(name string, to *uint64) error {
	v, err := d.r.Uint()
	if err != nil {
		return unparsable(name, err)
	}
	*to = v
	return nil
}

func (d *Decoder) sequenceID() error {
	r := &d.r
	if !r.Is('"') {
		v, err := r.Uint()
		if err != nil {
			if !errors.Is(err, tritonjson.ErrRange) {
				err = tritonjson.ErrString
			}
			return unparsable("sequence_id", err)
		}
		d.req.SequenceID = v
		return nil
	}
	s, err := r.Text()
	if err != nil {
		return err
	}
	return d.req.SetSequenceText(string(s))
}

func (d *Decoder) customParameter(name string) error {
	p := kserve.Parameter{Name: name}
	var err error
	switch d.r.Peek() {
	case '"':
		var s []byte
		if s, err = d.r.Text(); err == nil {
			err = kserve.CheckLength("value of a string parameter", len(s), kserve.MaxText)
		}
		if err == nil {
			err = d.text(s)
		}
		if err != nil {
			return err
		}
		p.Kind, p.String = kserve.ParamString, string(s)
	case 't', 'f':
		p.Kind = kserve.ParamBool
		p.Bool, err = d.r.Bool()
	case '{', '[', 'n':
		return status.New(status.InvalidArg, "parameter '%s' has invalid type. It should be either 'int', 'bool', or 'string'.", name)
	default:
		err = d.numberParameter(&p)
	}
	if err == nil {
		d.req.Parameters = append(d.req.Parameters, p)
	}
	return err
}

// numberParameter reads a number: as an integer if it is written as one. An integer that
// int64 cannot hold is refused, as a double would not hold all of its digits.
func (d *Decoder) numberParameter(p *kserve.Parameter) (err error) {
	at := d.r.Pos()
	p.Kind = kserve.ParamInt
	p.Int, err = d.r.Int()
	if errors.Is(err, tritonjson.ErrRange) {
		return status.New(status.InvalidArg, "parameter '%s' is %s, which is outside of the range of int64", p.Name, d.r.Since(at))
	}
	if err == nil {
		return nil
	}
	d.r.Seek(at)
	p.Kind = kserve.ParamDouble
	p.Double, err = d.r.Float64()
	return err
}
