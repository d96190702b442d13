package rpc

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

var errUTF8 = errors.New("string field contains invalid UTF-8")

// The parameters of tensors that the protocol defines.
const (
	paramRegion         = "shared_memory_region"
	paramOffset         = "shared_memory_offset"
	paramByteSize       = "shared_memory_byte_size"
	paramClassification = "classification"
)

// entry reads an entry of a parameter map. A parameter without a value keeps
// kind 0.
func (d *decoder) entry(msg []byte) (p kserve.Parameter, err error) {
	for len(msg) > 0 {
		var f field
		if f, msg, err = next(msg); err != nil {
			return p, err
		}
		if f.typ != protowire.BytesType {
			continue
		}
		switch f.num {
		case 1:
			p.Name, err = d.intern("parameter name", f.b)
		case 2:
			err = d.value(f.b, &p)
		}
		if err != nil {
			return p, err
		}
	}
	return p, nil
}

// value reads an InferParameter into p. Of several choices the last one wins.
func (d *decoder) value(msg []byte, p *kserve.Parameter) error {
	for len(msg) > 0 {
		f, rest, err := next(msg)
		if err != nil {
			return err
		}
		msg = rest
		n := kserve.Parameter{Name: p.Name}
		switch {
		case f.num == 1 && f.typ == protowire.VarintType:
			n.Kind, n.Bool = kserve.ParamBool, f.v != 0
		case f.num == 2 && f.typ == protowire.VarintType:
			n.Kind, n.Int = kserve.ParamInt, int64(f.v)
		case f.num == 3 && f.typ == protowire.BytesType:
			n.Kind = kserve.ParamString
			if n.String, err = d.parameterText(f.b); err != nil {
				return err
			}
		case f.num == 4 && f.typ == protowire.Fixed64Type:
			n.Kind, n.Double = kserve.ParamDouble, math.Float64frombits(f.v)
		case f.num == 5 && f.typ == protowire.VarintType:
			n.Kind, n.Uint = kserve.ParamUint, f.v
		default:
			continue
		}
		*p = n
	}
	return nil
}

// parameterText returns the value of a string parameter, whose copy the budget counts.
func (d *decoder) parameterText(b []byte) (string, error) {
	if err := d.checkLength("value of a string parameter", len(b), kserve.MaxText); err != nil {
		return "", err
	}
	if err := d.take(len(b)); err != nil {
		return "", err
	}
	return text(b)
}

// parameter reads a map entry of the message and adds it. Of several with the same name the
// last one stays.
func (d *decoder) parameter(ps []kserve.Parameter, l *list) ([]kserve.Parameter, error) {
	if len(ps) >= fewElements {
		var ok bool
		var err error
		if ps, ok, err = reserve(d, l, ps); !ok {
			return ps, err
		}
	}
	b, err := d.bytes()
	if err != nil {
		return ps, err
	}
	p, err := d.entry(b)
	if err != nil {
		return ps, err
	}
	// The search for the name takes quadratic time, so unique does it for more than a few
	// parameters.
	if len(ps) < fewElements {
		for i := range ps {
			if ps[i].Name == p.Name {
				ps[i] = p
				return ps, nil
			}
		}
	}
	return append(ps, p), nil
}

// unique drops all but the last of several parameters with the same name.
func unique(ps []kserve.Parameter) []kserve.Parameter {
	if len(ps) <= fewElements {
		return ps
	}
	at := make(map[string]int, len(ps))
	kept := ps[:0]
	for _, p := range ps {
		if i, ok := at[p.Name]; ok {
			kept[i] = p
			continue
		}
		at[p.Name] = len(kept)
		kept = append(kept, p)
	}
	clear(ps[len(kept):])
	return kept
}

// tensorParameter is a parameter that the protocol defines, of one input or requested output.
type tensorParameter struct {
	tensor int
	p      kserve.Parameter
}

// addTensorParameter reads a map entry of a tensor's parameters. A later entry replaces an
// earlier one with the same name.
func (d *decoder) addTensorParameter(to *[]tensorParameter, b []byte, tensor int) error {
	p, err := d.entry(b)
	if err != nil {
		return err
	}
	switch p.Name {
	case paramRegion, paramOffset, paramByteSize, paramClassification:
		*to = replaceOrAppend(*to, tensorParameter{tensor, p})
	}
	return nil
}

// replaceOrAppend replaces the parameter of the same name and tensor by p, or appends p. The
// parameters of the tensor are the last ones, at most four.
func replaceOrAppend(ps []tensorParameter, p tensorParameter) []tensorParameter {
	for i := len(ps) - 1; i >= 0 && ps[i].tensor == p.tensor; i-- {
		if ps[i].p.Name == p.p.Name {
			ps[i] = p
			return ps
		}
	}
	return append(ps, p)
}

// parametersOf removes the parameters of one tensor from the front. The parameters are in
// the order of the tensors.
func parametersOf(ps []tensorParameter, tensor int) (of, rest []tensorParameter) {
	n := 0
	for n < len(ps) && ps[n].tensor == tensor {
		n++
	}
	return ps[:n], ps[n:]
}

// find returns the parameter of that name.
func find(ps []tensorParameter, name string) (kserve.Parameter, bool) {
	for i := range ps {
		if ps[i].p.Name == name {
			return ps[i].p, true
		}
	}
	return kserve.Parameter{}, false
}
