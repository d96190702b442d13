package lane

import (
	"fmt"
	"strconv"

	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tritonjson"
)

// Regions are the parts of registered shared memory that hold the tensors of a request, in the
// order of its inputs and outputs. A tensor without a region is in the messages.
type Regions struct{ Inputs, Outputs []kserve.RegionSlice }

func (r Regions) used() bool { return len(r.Inputs)+len(r.Outputs) > 0 }

func (r Regions) input(i int) kserve.RegionSlice { return nth(r.Inputs, i) }

func (r Regions) output(i int) kserve.RegionSlice { return nth(r.Outputs, i) }

func nth(list []kserve.RegionSlice, i int) kserve.RegionSlice {
	if i < len(list) {
		return list[i]
	}
	return kserve.RegionSlice{}
}

// The parameters of a tensor in shared memory.
const (
	paramRegion     = "shared_memory_region"
	paramRegionSize = "shared_memory_byte_size"
	paramOffset     = "shared_memory_offset"
)

// appendRegionJSON appends members of an object of parameters.
func appendRegionJSON(b []byte, r kserve.RegionSlice) []byte {
	b = append(b, `"`+paramRegion+`":`...)
	b = tritonjson.AppendValid(b, r.Region)
	b = append(b, `,"`+paramRegionSize+`":`...)
	b = strconv.AppendUint(b, r.Size, 10)
	if r.Offset != 0 {
		b = append(b, `,"`+paramOffset+`":`...)
		b = strconv.AppendUint(b, r.Offset, 10)
	}
	return b
}

// prepareShared encodes a request with tensors in shared memory. The rest of the request and
// its tensors are two messages, which protobuf merges.
func (c *grpcClient) prepareShared(req *kserve.Request, at Regions, sequence bool) (*Prepared, error) {
	rest := *req
	rest.Inputs, rest.Outputs = nil, nil
	encoded := c.codec.EncodeRequest(&rest)
	head := encoded.Materialize()
	encoded.Free()
	tensors := &inferencepb.ModelInferRequest{}
	for i := range req.Inputs {
		t := &req.Inputs[i]
		region := at.input(i)
		tensors.Inputs = append(tensors.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{
			Name: t.Name, Datatype: t.DataType.String(), Shape: t.Shape, Parameters: regionParameters(region),
		})
		if region.Region == "" {
			raw := make([]byte, t.Data.Len())
			t.Data.CopyTo(raw)
			tensors.RawInputContents = append(tensors.RawInputContents, raw)
		}
	}
	for i := range req.Outputs {
		o := &req.Outputs[i]
		p := regionParameters(at.output(i))
		if o.Classification > 0 {
			p["classification"] = intParameter(uint64(o.Classification))
		}
		tensors.Outputs = append(tensors.Outputs, &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: o.Name, Parameters: p})
	}
	all, err := proto.MarshalOptions{Deterministic: true}.MarshalAppend(head, tensors)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	p := &Prepared{message: message{parts: [][]byte{all}}, size: len(all), sequence: sequence, addSequence: sequence}
	return p, c.compress(p)
}

func regionParameters(r kserve.RegionSlice) map[string]*inferencepb.InferParameter {
	p := map[string]*inferencepb.InferParameter{}
	if r.Region == "" {
		return p
	}
	p[paramRegion] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: r.Region}}
	p[paramRegionSize] = intParameter(r.Size)
	if r.Offset != 0 {
		p[paramOffset] = intParameter(r.Offset)
	}
	return p
}

func intParameter(v uint64) *inferencepb.InferParameter {
	return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: int64(v)}}
}
