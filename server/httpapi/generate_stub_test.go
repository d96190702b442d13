package httpapi_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

// addGenerated adds the models of the generate extension, as they were made for
// the recording.
func (s *stub) addGenerated() {
	s.add("g_one", 0, dims("INPUT0", "string", 1))
	s.add("g_batch", 8, dims("INPUT0", "int32", -1))
	s.add("g_fixed", 8, dims("INPUT0", "int32", 2, 3))
	s.add("g_mixed", 0, dims("INPUT0", "int32", -1, 3, -1))
	s.add("g_order", 0, dims("INPUTZ", "int32", 1), dims("INPUTA", "string", -1), dims("INPUTm", "fp32", 1))
	s.add("g_params", 0, dims("INPUT0", "int32", -1), dims("INPUT1", "string", 1))
	s.models["g_params"].submit = echoParameters
	s.add("g_inpar", 0, dims("parameters", "string", 1), dims("INPUT0", "int32", 1))
	s.models["g_inpar"].submit = echoParameters
	s.add("g_idin", 0, dims("id", "string", 1))
	s.models["g_idin"].submit = echoParameters
	s.add("g_clash", 0, dims("INPUT0", "string", 1))
	s.models["g_clash"].submit = func(r *infer.Request) {
		defer r.Release()
		resp := infer.NewResponse()
		resp.ModelName, resp.ModelVersion, resp.ID = "g_clash", "1", r.ID
		for _, name := range []string{"id", "model_name"} {
			resp.Add(name, tensor.Bytes, tensor.Shape{1}, r.Inputs[0].Data.Clone())
		}
		r.Sink.Send(resp, true)
	}
	s.add("g_fail_internal", 0, dims("INPUT0", "int32", 1))
	s.models["g_fail_internal"].submit = func(r *infer.Request) {
		defer r.Release()
		r.Sink.Send(failure(status.New(status.Internal, "boom")), true)
	}
	s.add("g_repeat", 0, dims("COUNT", "int32", 1), dims("FAIL", "int32", 1))
	s.models["g_repeat"].submit = repeat
}

func dims(name, kind string, dims ...int64) *inferencepb.ModelInput {
	in := config(name, kind, 0)
	in.Dims = dims
	return in
}

func failure(err error) *infer.Response {
	resp := infer.NewResponse()
	resp.Err = err
	return resp
}

// echoParameters answers with the parameters of the request.
func echoParameters(r *infer.Request) {
	defer r.Release()
	values := map[string]any{}
	for _, p := range r.Parameters {
		switch p.Kind {
		case kserve.ParamString:
			values[p.Name] = p.String
		case kserve.ParamBool:
			values[p.Name] = p.Bool
		case kserve.ParamInt:
			values[p.Name] = p.Int
		case kserve.ParamDouble:
			values[p.Name] = p.Double
		}
	}
	b, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	text := strings.NewReplacer(`":`, `": `, `,"`, `, "`).Replace(string(b)) + " shapes "
	for i := range r.Inputs {
		if i > 0 {
			text += " "
		}
		text += r.Inputs[i].Name + strings.ReplaceAll(r.Inputs[i].Shape.String(), ",", ", ")
	}
	resp := infer.NewResponse()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, "1", r.ID
	resp.Add("OUTPUT0", tensor.Bytes, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer(tensor.AppendElement(nil, []byte(text)))))
	r.Sink.Send(resp, true)
}

// repeat answers COUNT times, with an error at FAIL.
func repeat(r *infer.Request) {
	defer r.Release()
	number := func(name string, none int) int {
		t := r.Input(name)
		if t == nil {
			return none
		}
		b, _ := t.Data.Contiguous()
		return int(b[0]) | int(b[1])<<8
	}
	fail := number("FAIL", -1)
	for i := range number("COUNT", 0) {
		if i == fail {
			r.Sink.Send(failure(status.New(status.Internal, "boom %d", i)), false)
			continue
		}
		r.Sink.Send(numbered(r, i), false)
	}
	r.Sink.Send(nil, true)
}

// numbered is the response i of a stream.
func numbered(r *infer.Request, i int) *infer.Response {
	resp := infer.NewResponse()
	resp.ModelName, resp.ModelVersion, resp.ID = r.ModelName, "1", r.ID
	resp.Add("INDEX", tensor.Int32, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer([]byte{byte(i), byte(i >> 8), 0, 0})))
	resp.Add("TEXT", tensor.Bytes, tensor.Shape{1}, tensor.NewData(tensor.HeapBuffer(tensor.AppendElement(nil, fmt.Appendf(nil, "t%d", i)))))
	return resp
}
