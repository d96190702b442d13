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

func (c correlation) applyTo(r *infer.Request) {
	r.SequenceID, r.SequenceIDStr, r.SequenceStart, r.SequenceEnd = c.id, c.name, c.start, c.end
}

// read applies the parameters of a response, and reports whether any changed the
// correlation.
func (c *correlation) read(params []kserve.Parameter) (changed bool, err error) {
	for i := range params {
		p := &params[i]
		switch p.Name {
		case "sequence_id":
			switch p.Kind {
			case kserve.ParamInt:
				c.id, c.name = uint64(p.Int), ""
			case kserve.ParamUint:
				c.id, c.name = p.Uint, ""
			case kserve.ParamString:
				c.id, c.name = 0, p.String
			default:
				return changed, status.New(status.InvalidArg,
					"expected parameter 'sequence_id' to be TRITONSERVER_PARAMETER_INT or TRITONSERVER_PARAMETER_STRING")
			}
		case "sequence_start", "sequence_end":
			if p.Kind != kserve.ParamBool {
				return changed, status.New(status.InvalidArg, "expect parameter '%s' to be TRITONSERVER_PARAMETER_BOOL", p.Name)
			}
			if p.Name == "sequence_start" {
				c.start = p.Bool
			} else {
				c.end = p.Bool
			}
		default:
			continue
		}
		changed = true
	}
	return changed, nil
}

// describe adds the sequence parameters that every response of an ensemble has.
func (c correlation) describe(resp *infer.Response) {
	id := kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamInt, Int: int64(c.id)}
	if c.name != "" {
		id = kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamString, String: c.name}
	}
	resp.Parameters = append(resp.Parameters, id,
		kserve.Parameter{Name: "sequence_start", Kind: kserve.ParamBool, Bool: c.start},
		kserve.Parameter{Name: "sequence_end", Kind: kserve.ParamBool, Bool: c.end})
}
