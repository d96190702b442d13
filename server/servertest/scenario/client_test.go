package scenario

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
)

// message is a request as a client sends it.
func message(e *Event, m *Model, prefix string) *inferencepb.ModelInferRequest {
	a := &e.Request
	r := &inferencepb.ModelInferRequest{ModelName: prefix + m.Name, Id: e.Name, Parameters: map[string]*inferencepb.InferParameter{}}
	shape := a.shape(m)
	for _, name := range a.Inputs {
		if name == "" {
			continue
		}
		r.Inputs = append(r.Inputs, &inferencepb.ModelInferRequest_InferInputTensor{Name: name, Datatype: "INT32", Shape: shape})
		r.RawInputContents = append(r.RawInputContents, a.data())
	}
	for _, name := range a.Outputs {
		r.Outputs = append(r.Outputs, &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: name})
	}
	truth := func(key string, b bool) {
		r.Parameters[key] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: b}}
	}
	number := func(key string, n int64) {
		r.Parameters[key] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: n}}
	}
	if id, ok := a.Number(); ok {
		number("sequence_id", int64(id))
	} else if a.Sequence != "" {
		r.Parameters["sequence_id"] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_StringParam{StringParam: a.Sequence}}
	}
	if a.Start {
		truth("sequence_start", true)
	}
	if a.End {
		truth("sequence_end", true)
	}
	if a.Priority != 0 {
		r.Parameters["priority"] = &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_Uint64Param{Uint64Param: a.Priority}}
	}
	if a.Timeout != 0 {
		number("timeout", a.Timeout.Microseconds())
	}
	if m.Streams() {
		truth("triton_enable_empty_final_response", true)
	}
	return r
}

// shape is that of every input.
func (r *Request) shape(m *Model) []int64 {
	if m.Batching() {
		return []int64{r.Rows, r.Width}
	}
	return []int64{r.Width}
}

// data is the bytes of every input.
func (r *Request) data() []byte {
	var b []byte
	for range r.Rows * r.Width {
		b = binary.LittleEndian.AppendUint32(b, uint32(r.Value))
	}
	return b
}

func numbers(raw []byte) []int32 {
	var all []int32
	for ; len(raw) >= 4; raw = raw[4:] {
		all = append(all, int32(binary.LittleEndian.Uint32(raw)))
	}
	return all
}

func (o *nvidia) unary(ctx context.Context, r *inferencepb.ModelInferRequest, reply func(string)) {
	resp, err := o.client.ModelInfer(ctx, r)
	if err != nil {
		st := status.Convert(err)
		reply(ended(ctx, st.Code(), st.Message()))
		return
	}
	reply(strings.TrimSpace("OK " + outputs(resp)))
}

// stream sends one request over a stream of its own and reads until its end.
func (o *nvidia) stream(ctx context.Context, r *inferencepb.ModelInferRequest, reply func(string)) {
	s, err := o.client.ModelStreamInfer(ctx)
	if err == nil {
		err = s.Send(r)
	}
	for ended := false; err == nil; {
		if ended {
			_ = s.CloseSend()
		}
		var resp *inferencepb.ModelStreamInferResponse
		if resp, err = s.Recv(); err != nil {
			break
		}
		text, final := streamed(resp)
		reply(text)
		ended = ended || final
	}
	if st := status.Convert(err); !errors.Is(err, io.EOF) {
		reply(ended(ctx, st.Code(), st.Message()))
	}
}

// streamed is a message of a stream, and whether it is the last of its request.
func streamed(resp *inferencepb.ModelStreamInferResponse) (string, bool) {
	if text := resp.GetErrorMessage(); text != "" {
		return "error: " + text, true
	}
	r := resp.GetInferResponse()
	final := r.GetParameters()["triton_final_response"].GetBoolParam()
	if len(r.GetOutputs()) == 0 && final {
		return "final", true
	}
	text := "OK " + outputs(r)
	if final {
		text += " final"
	}
	return text, final
}

// outputs is the data and parameters of a response.
func outputs(r *inferencepb.ModelInferResponse) string {
	var parts []string
	for i, out := range r.GetOutputs() {
		parts = append(parts, Values(out.GetName(), numbers(r.GetRawOutputContents()[i])))
	}
	for _, key := range slices.Sorted(maps.Keys(r.GetParameters())) {
		if key == "triton_final_response" {
			continue
		}
		switch v := r.GetParameters()[key].GetParameterChoice().(type) {
		case *inferencepb.InferParameter_BoolParam:
			parts = append(parts, fmt.Sprintf("%s:%v", key, v.BoolParam))
		case *inferencepb.InferParameter_Int64Param:
			parts = append(parts, fmt.Sprintf("%s:%d", key, v.Int64Param))
		case *inferencepb.InferParameter_StringParam:
			parts = append(parts, fmt.Sprintf("%s:%q", key, v.StringParam))
		}
	}
	return strings.Join(parts, " ")
}

func floats(raw []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(raw)) }
