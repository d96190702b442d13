package ensemble

import (
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/server/infer"
)

// correlation is the correlation ID of a request and its START and END flags. Every value of
// a tensor has the correlation of the request that made it. A model may change it, for the
// steps that read its outputs, by parameters of its response.
type correlation struct {
	id         uint64
	name       string // a correlation ID that is text; then id is 0
	start, end bool
}

func correlationOf(r *infer.Request) correlation {
	return correlation{r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd}
}

func (m correlation) applyTo(r *infer.Request) {
	r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd = m.id, m.name, m.start, m.end
}

// read applies the parameters of a response, and reports whether any changed the
// correlation.
func (m *correlation) read(params []kserve.Parameter) (changed bool, err error) {
	for i := range params {
		p := &params[i]
		switch p.Name {
		case "sequence_id":
			switch p.Kind {
			case kserve.ParamInt:
				m.id, m.name = uint64(p.Int), ""
			case kserve.ParamUint:
				m.id, m.name = p.Uint, ""
			case kserve.ParamString:
				m.id, m.name = 0, p.String
			default:
				return changed, status.New(status.InvalidArg,
					"expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING")
			}
		case "sequence_start", "sequence_end":
			if p.Kind != kserve.ParamBool {
				return changed, status.New(status.InvalidArg, "expect parameter '%s' to be TRITONSERVER_PARAMETER_BOOL", p.Name)
			}
			if p.Name == "sequence_start" {
				m.start = p.Bool
			} else {
				m.end = p.Bool
			}
		default:
			continue
		}
		changed = true
	}
	return changed, nil
}

// describe adds the sequence parameters that every response of an ensemble has.
func (m correlation) describe(resp *infer.Response) {
	id := kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamInt, Int: int64(m.id)}
	if m.name != "" {
		id = kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamString, String: m.name}
	}
	resp.Parameters = append(resp.Parameters, id,
		kserve.Parameter{Name: "sequence_start", Kind: kserve.ParamBool, Bool: m.start},
		kserve.Parameter{Name: "sequence_end", Kind: kserve.ParamBool, Bool: m.end})
}
