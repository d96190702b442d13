package rpc

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"triton/pkg/kserve"
)

func classParameter(o *kserve.RequestedOutput) kserve.Parameter {
	return kserve.Parameter{Name: paramClassification, Kind: kserve.ParamInt, Int: int64(o.Classification)}
}

func appendParameter(b []byte, p *kserve.Parameter) []byte { return appendEntry(b, 4, p) }

// appendEntry appends an entry of a parameter map.
func appendEntry(b []byte, num protowire.Number, p *kserve.Parameter) []byte {
	v := valueSize(p)
	b = appendBytesHeader(b, num, fieldSize(len(p.Name))+fieldSize(v))
	b = append(appendBytesHeader(b, 1, len(p.Name)), p.Name...)
	b = appendBytesHeader(b, 2, v)
	switch p.Kind {
	case kserve.ParamBool:
		b = protowire.AppendTag(b, 1, protowire.VarintType)
		return protowire.AppendVarint(b, protowire.EncodeBool(p.Bool))
	case kserve.ParamInt:
		b = protowire.AppendTag(b, 2, protowire.VarintType)
		return protowire.AppendVarint(b, uint64(p.Int))
	case kserve.ParamString:
		return append(appendBytesHeader(b, 3, len(p.String)), p.String...)
	case kserve.ParamDouble:
		b = protowire.AppendTag(b, 4, protowire.Fixed64Type)
		return protowire.AppendFixed64(b, math.Float64bits(p.Double))
	case kserve.ParamUint:
		b = protowire.AppendTag(b, 5, protowire.VarintType)
		return protowire.AppendVarint(b, p.Uint)
	}
	return b
}

// fieldParameters returns the parameters of the request's fields, as Triton's
// clients send them. There are at most six.
func fieldParameters(r *kserve.Request, ps *[6]kserve.Parameter) []kserve.Parameter {
	out := ps[:0]
	if r.SequenceID != 0 || r.SequenceIDStr != "" {
		id := kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamInt, Int: int64(r.SequenceID)}
		if r.SequenceIDStr != "" {
			id = kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamString, String: r.SequenceIDStr}
		}
		out = append(out, id,
			kserve.Parameter{Name: "sequence_start", Kind: kserve.ParamBool, Bool: r.SequenceStart},
			kserve.Parameter{Name: "sequence_end", Kind: kserve.ParamBool, Bool: r.SequenceEnd})
	}
	if r.Priority != 0 {
		out = append(out, kserve.Parameter{Name: "priority", Kind: kserve.ParamUint, Uint: r.Priority})
	}
	if r.TimeoutMicros != 0 {
		out = append(out, kserve.Parameter{Name: "timeout", Kind: kserve.ParamInt, Int: int64(r.TimeoutMicros)})
	}
	if r.EmptyFinal {
		out = append(out, kserve.Parameter{
			Name: "triton_enable_empty_final_response", Kind: kserve.ParamBool, Bool: true,
		})
	}
	return out
}

func appendRequestParameters(b []byte, r *kserve.Request) []byte {
	var own [6]kserve.Parameter
	ps := fieldParameters(r, &own)
	for i := range ps {
		b = appendParameter(b, &ps[i])
	}
	for i := range r.Parameters {
		b = appendParameter(b, &r.Parameters[i])
	}
	return b
}
