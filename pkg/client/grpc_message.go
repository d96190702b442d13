package client

import (
	"fmt"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
)

type rpcParameters = map[string]*inferencepb.InferParameter

func rpcBool(v bool) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: v}}
}

func rpcInt(v int64) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: v}}
}

func rpcUint(v uint64) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Uint64Param{Uint64Param: v}}
}

func rpcString(v string) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: v}}
}

// rpcParameter converts a parameter of the caller.
func rpcParameter(name string, value any) (*inferencepb.InferParameter, error) {
	p, err := kserve.NewParameter(name, value)
	if err != nil {
		return nil, err
	}
	switch p.Kind {
	case kserve.ParamBool:
		return rpcBool(p.Bool), nil
	case kserve.ParamInt:
		return rpcInt(p.Int), nil
	case kserve.ParamUint:
		return rpcUint(p.Uint), nil
	case kserve.ParamDouble:
		return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_DoubleParam{DoubleParam: p.Double}}, nil
	default:
		return rpcString(p.String), nil
	}
}

func encodeRPC(req *Request) (*inferencepb.ModelInferRequest, error) {
	m := &inferencepb.ModelInferRequest{ModelName: req.Model, ModelVersion: req.Version, Id: req.ID, Parameters: rpcParameters{}}
	for name, value := range req.Parameters {
		p, err := rpcParameter(name, value)
		if err != nil {
			return nil, err
		}
		m.Parameters[name] = p
	}
	if s := req.Sequence; !s.none() {
		m.Parameters["sequence_id"] = rpcInt(int64(s.ID))
		if s.Text != "" {
			m.Parameters["sequence_id"] = rpcString(s.Text)
		}
		m.Parameters["sequence_start"], m.Parameters["sequence_end"] = rpcBool(s.Start), rpcBool(s.End)
	}
	if req.Priority != 0 {
		m.Parameters["priority"] = rpcUint(req.Priority)
	}
	if req.Timeout != 0 {
		m.Parameters["timeout"] = rpcInt(req.Timeout.Microseconds())
	}
	if req.EmptyFinal {
		m.Parameters["triton_enable_empty_final_response"] = rpcBool(true)
	}
	for _, in := range req.Inputs {
		m.Inputs = append(m.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{
			Name: in.Name, Datatype: in.Datatype, Shape: in.Shape, Parameters: rpcRegion(in.Region),
		})
		if in.Region.Name == "" {
			m.RawInputContents = append(m.RawInputContents, in.Data)
		}
	}
	for _, out := range req.Outputs {
		p := rpcRegion(out.Region)
		if out.Classes > 0 {
			p["classification"] = rpcInt(int64(out.Classes))
		}
		m.Outputs = append(m.Outputs, &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: out.Name, Parameters: p})
	}
	return m, nil
}

func rpcRegion(r Region) rpcParameters {
	p := rpcParameters{}
	if r.Name != "" {
		p["shared_memory_region"] = rpcString(r.Name)
		p["shared_memory_byte_size"] = rpcInt(int64(r.Size))
		if r.Offset != 0 {
			p["shared_memory_offset"] = rpcInt(int64(r.Offset))
		}
	}
	return p
}

func decodeRPC(m *inferencepb.ModelInferResponse) (*Response, error) {
	r := &Response{Model: m.GetModelName(), Version: m.GetModelVersion(), ID: m.GetId(), Parameters: map[string]any{}}
	for name, p := range m.GetParameters() {
		switch v := p.GetParameterChoice().(type) {
		case *inferencepb.InferParameter_BoolParam:
			r.Parameters[name] = v.BoolParam
		case *inferencepb.InferParameter_Int64Param:
			r.Parameters[name] = v.Int64Param
		case *inferencepb.InferParameter_Uint64Param:
			r.Parameters[name] = v.Uint64Param
		case *inferencepb.InferParameter_DoubleParam:
			r.Parameters[name] = v.DoubleParam
		case *inferencepb.InferParameter_StringParam:
			r.Parameters[name] = v.StringParam
		}
	}
	raw := m.GetRawOutputContents()
	for i, out := range m.GetOutputs() {
		t := Tensor{Name: out.GetName(), Datatype: out.GetDatatype(), Shape: out.GetShape()}
		switch {
		case i < len(raw):
			t.Data = raw[i]
		case out.GetContents() != nil:
			return nil, fmt.Errorf("output %q: the server did not send raw contents", t.Name)
		}
		r.Outputs = append(r.Outputs, t)
	}
	return r, nil
}
