package rpc

import (
	"strings"

	"triton/pkg/kserve"
	"triton/pkg/status"
)

// evaluateRequest evaluates the parameters and finds the data of each input. It returns the
// error that Triton reports first.
func (d *decoder) evaluateRequest(m *kserve.Request) error {
	if err := requestParameters(m); err != nil {
		return err
	}
	if err := d.planData(m.ModelName, "input", m.Inputs); err != nil {
		return err
	}
	return d.outputParameters(m)
}

// requestParameters moves the parameters that the protocol defines into their fields. The
// model's own parameters stay.
func requestParameters(m *kserve.Request) error {
	m.Parameters = unique(m.Parameters)
	own := m.Parameters[:0]
	for _, p := range m.Parameters {
		keep, err := requestParameter(m, &p)
		if err != nil {
			return err
		}
		if keep {
			own = append(own, p)
		}
	}
	clear(m.Parameters[len(own):])
	m.Parameters = own
	return nil
}

func invalid(format string, args ...any) error {
	return status.New(status.InvalidArg, format, args...)
}

func wrongType(name, want string) error {
	return invalid("invalid value type for '%s' parameter, expected %s", name, want)
}

// requestParameter moves p into its field if the protocol defines it. Otherwise it reports
// that p is the model's own parameter.
func requestParameter(m *kserve.Request, p *kserve.Parameter) (own bool, err error) {
	switch p.Name {
	case "sequence_id":
		switch p.Kind {
		case kserve.ParamInt:
			m.SequenceID, m.SequenceIDStr = uint64(p.Int), ""
		case kserve.ParamString:
			return false, m.SetSequenceText(p.String)
		default:
			return false, wrongType(p.Name, "int64_param or string_param.")
		}
	case "sequence_start":
		return false, boolParameter(p, &m.SequenceStart)
	case "sequence_end":
		return false, boolParameter(p, &m.SequenceEnd)
	case "priority":
		switch {
		case p.Kind == kserve.ParamInt && p.Int < 0:
			return false, invalid("invalid value for 'priority', expected value >= 0.")
		case p.Kind == kserve.ParamInt:
			m.Priority = uint64(p.Int)
		case p.Kind == kserve.ParamUint:
			m.Priority = p.Uint
		default:
			return false, wrongType(p.Name, "int64_param or uint64_param.")
		}
	case "timeout":
		if p.Kind != kserve.ParamInt {
			return false, wrongType(p.Name, "int64_param.")
		}
		m.TimeoutMicros = uint64(p.Int)
	case "triton_enable_empty_final_response":
		return false, boolParameter(p, &m.EmptyFinal)
	default:
		return true, ownParameter(p)
	}
	return false, nil
}

func boolParameter(p *kserve.Parameter, to *bool) error {
	if p.Kind != kserve.ParamBool {
		return wrongType(p.Name, "bool_param.")
	}
	*to = p.Bool
	return nil
}

func ownParameter(p *kserve.Parameter) error {
	if strings.HasPrefix(p.Name, "triton_") {
		return invalid("parameter keys starting with 'triton_' are reserved for Triton usage. " +
			"Only the following keys starting with 'triton_' are allowed: triton_enable_empty_final_response")
	}
	switch p.Kind {
	case kserve.ParamBool, kserve.ParamInt, kserve.ParamDouble, kserve.ParamString:
		return nil
	}
	return wrongType(p.Name, "int64_param, bool_param, or string_param.")
}

// region reads the shared memory parameters of a tensor. ok is false if the tensor has
// none. Negative numbers become very large ones, as in Triton.
func region(ms []tensorParameter, tensor string) (slice kserve.RegionSlice, ok bool, err error) {
	if len(ms) == 0 {
		return slice, false, nil
	}
	p, has := find(ms, paramRegion)
	if has && p.Kind != kserve.ParamString {
		return slice, false, invalid(
			"invalid value type for 'shared_memory_region' parameter for tensor '%s', expected string_param.", tensor)
	}
	for _, key := range [...]string{paramOffset, paramByteSize} {
		q, set := find(ms, key)
		switch {
		case !set && has && key == paramByteSize:
			return slice, false, invalid("'shared_memory_byte_size' must be specified along with "+
				"'shared_memory_region' parameter for tensor '%s'", tensor)
		case set && !has:
			return slice, false, invalid(
				"'%s' can not be specified without 'shared_memory_region' parameter for tensor '%s'", key, tensor)
		case set && q.Kind != kserve.ParamInt:
			return slice, false, invalid(
				"invalid value type for '%s' parameter for tensor '%s', expected int64_param.", key, tensor)
		case key == paramOffset:
			slice.Offset = uint64(q.Int)
		default:
			slice.Size = uint64(q.Int)
		}
	}
	slice.Region = p.String
	return slice, has, nil
}

// outputParameters evaluates the parameters of each requested output.
func (d *decoder) outputParameters(m *kserve.Request) error {
	if len(d.outputs) == 0 {
		return nil
	}
	rest := d.outputs
	for i := range m.Outputs {
		o := &m.Outputs[i]
		var ms []tensorParameter
		ms, rest = parametersOf(rest, i)
		slice, shared, err := region(ms, o.Name)
		if err != nil {
			return err
		}
		if err := classification(ms, o); err != nil {
			return err
		}
		if shared && o.Classification > 0 {
			return invalid("output can't set both 'shared_memory_region' and 'classification'")
		}
		if !shared {
			continue
		}
		if o.Into, err = slice.Find(d.regions); err != nil {
			return err
		}
	}
	return nil
}

func classification(ms []tensorParameter, o *kserve.RequestedOutput) error {
	p, ok := find(ms, paramClassification)
	switch {
	case !ok:
		return nil
	case p.Kind != kserve.ParamInt:
		return invalid("invalid value type for 'classification' parameter, expected int64_param")
	case p.Int <= 0:
		return invalid("invalid value for 'classification' parameter, expected >= 0")
	}
	o.Classification = uint32(p.Int)
	return nil
}
