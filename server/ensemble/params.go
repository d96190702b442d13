package ensemble

import (
	"triton/pkg/kserve"
	"triton/server/infer"
)

// describe gives a response the parameters that every one of an ensemble has:
// what sequence it belongs to.
func describe(resp *infer.Response, r *infer.Request) {
	id := kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamInt, Int: int64(r.SequenceID)}
	if r.SequenceIDStr != "" {
		id = kserve.Parameter{Name: "sequence_id", Kind: kserve.ParamString, String: r.SequenceIDStr}
	}
	resp.Parameters = append(resp.Parameters, id,
		kserve.Parameter{Name: "sequence_start", Kind: kserve.ParamBool, Bool: r.SequenceStart},
		kserve.Parameter{Name: "sequence_end", Kind: kserve.ParamBool, Bool: r.SequenceEnd})
}
